#!/usr/bin/env bash
# door.sh SOURCE BIN: tables that leave the house, with the three programs over
# mutual TLS on loopback: a run; a distorted table with its attacks; the refusals
# of `publish`; kill -9 in the middle of it; a table drawn from a paid release; a
# guarantee that is given up, and what every page of the analyst says from then on.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

stop_curator() { kill -TERM $curator_pid && wait $curator_pid || fail "the curator's exit code"; }

# 120 patients, no two alike, with ids and a class that their numbers follow.
awk 'BEGIN { for (n = 0; n < 120; ++n) { sick = n % 3 == 0; half = int(n / 3);
  printf "p%03d,%d,%d,%d,%d,%s\n", n, 1 + n % 7 + 3 * sick, 1 + half % 5 + 4 * sick, 1 + int(half / 5) % 9,
    1 + (n * n) % 6 + 2 * sick, sick ? "yes" : "no" } }' > "$work/patients.csv"
people=(--input "$work/patients.csv" --users rows --id-column 1 --class-column 6)
exits 0 "import" dpnmf-curator import --name visits --population patients "${people[@]}" --classes yes,no \
  --normalise none --column-bound 20 --range 1,10 --integers --epsilon 8 --delta 1e-6 "${curator_dirs[@]}"

start_curator || fail "curator"
start_analyst || fail "analyst"
exits 0 "train" as alice train --dataset visits --rank 2 --rounds 2 --epsilon 1 --wait
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
[ -n "$id" ] || fail "no run"
# Labelled people, from one joint release of the classes.
exits 0 "classes" as alice train --dataset visits --mechanism class_moments --epsilon 1 --wait
classes=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
says "dpnmf synthesise ${classes:0:12}"
for file in people.csv.1 people.csv.2; do
  exits 0 "synthesise" as alice synthesise "$classes" --count 90 --seed 4 --output "$work/people.csv"
  mv "$work/people.csv" "$work/$file"
done
cmp "$work/people.csv.1" "$work/people.csv.2" || fail "the same seed gives other people"
[ "$(head -n 1 "$work/people.csv.1")" = "feature_1,feature_2,feature_3,feature_4,class" ] || fail "the header of the people"
awk -F, 'NR > 1 { for (i = 1; i <= 4; ++i) if ($i != int($i) || $i < 1 || $i > 10) exit 1; ++count[$5] }
  END { exit !(NR == 91 && count["yes"] + count["no"] == 90 && count["yes"] > 0 && count["no"] > 0) }' \
  "$work/people.csv.1" || fail "people outside of the declared range or classes"
exits 0 "train on synthetic, test on real" dpnmf-lab synthesise --synthetic "$work/people.csv.1" \
  --test "$work/patients.csv" --id-column 1 --class-column 6 --output "$work/tested"
says "learned from 90 synthetic people, tested on 120 real ones"
exits 7 "it has no dictionary" as alice model "$classes" --output "$work/W.npy"
says model-not-ready
exits 0 "receipts" as alice receipts export --output "$work/before.jsonl"
for page in datasets "show $id" runs "budget --dataset visits"; do
  exits 0 "$page" as alice $page
  ! grep -q VOID "$work/out" || fail "a guarantee that holds is called void: $page"
done
stop_curator

# Drafts leave through `publish` alone, and not without attacks, a name, a rate
# that the attacks keep to, and people without a guarantee.
exits 0 "distort" dpnmf-lab distort "${people[@]}" --method nd --rank 2 --data-dir "$data" --output "$work/drafts"
draft=$work/drafts/nd
[ "$(stat -c %a "$draft/table.csv")" = 600 ] || fail "others can read the draft"
exits 0 "attack" dpnmf-lab attack --original "$work/patients.csv" --published "$draft/table.csv" --id-column 1 \
  --class-column 6 --output "$work/judged"
says "The strongest linkage"
publish() { # OUTPUT FLAG...
  local output=$1
  shift
  dpnmf-curator publish "${curator_dirs[@]}" --output "$output" "$@"
}
refuses() { # CODE FLAG...
  local code=$1
  shift
  exits 7 "publish: $code" publish "$work/out.d" "$@"
  says "$code"
  [ -z "$(ls -A "$work/out.d" 2>/dev/null)" ] || fail "$code: something was written"
}
rows() { dpnmf-curator ledger verify "${curator_dirs[@]}" | grep -oE '[0-9]+ rows'; }
before=$(rows)
refuses approval-missing --draft "$draft" --accept-linkage 1
refuses approval-missing --draft "$draft" --approve Ann
refuses linkage-too-high --draft "$draft" --approve Ann --accept-linkage 0.05
refuses population-capped --draft "$draft" --approve Ann --accept-linkage 1
# Ids that are shared are no chance.
refuses population-capped --draft "$draft" --approve Ann --accept-linkage 1 --accept-overlap patients
[ "$(rows)" = "$before" ] || fail "a refusal appended a row"

# A table from a paid release: charged once, with the charge and the guarantee.
synthesise=(dpnmf-curator synthesise "${curator_dirs[@]}" --name visits --epsilon 2)
exits 0 "a paid release" "${synthesise[@]}" --output "$work/release.json"
exits 0 "the same again" "${synthesise[@]}" --output "$work/again.json"
says "nothing was charged"
cmp "$work/release.json" "$work/again.json" || fail "the same release differs"
exits 0 "draw" dpnmf-lab synthesise --release "$work/release.json" --count 100 --test "$work/patients.csv" \
  --class-column 6 --id-column 1 --output "$work/synthetic"
says "not private"
exits 0 "publish what was drawn" publish "$work/private.d" --draft "$work/synthetic" --approve Ann
says "differentially private"
cmp "$work/private.d/synthetic.csv" "$work/synthetic/table.csv" || fail "another table was published"
label=$work/private.d/LABEL.json
for word in '"charge"' '"guarantee"' '"epsilon"' '"mechanism": "class_moments"'; do
  grep -q "$word" "$label" || fail "the label lacks $word"
done
! grep -qiE 'attack|linkage|accuracy|real_data|void|patients.csv' "$label" || fail "the label says more than charge and guarantee"

# kill -9 at any time leaves no table without its row. On copies: a row stays.
tries=0 killed=0
for delay in 0.004 0.008 0.012 0.016 0.02 0.03 0.05; do
  tries=$((tries + 1))
  copy=$work/copy$tries
  cp -r "$data" "$copy" && cp -r "$work/anchor" "$copy.anchor"
  { timeout --foreground -s KILL $delay dpnmf-curator publish --data-dir "$copy" --anchor-dir "$copy.anchor" --draft "$draft" \
    --approve Ann --accept-linkage 1 --void-guarantee patients --output "$copy.out" >/dev/null; } 2>/dev/null
  [ $? = 137 ] && killed=$((killed + 1))
  if [ -e "$copy.out/nd.not-dp.csv" ]; then
    [ -e "$copy.out/LABEL.json" ] || fail "a table without its label after $delay s"
    dpnmf-curator ledger show --data-dir "$copy" --anchor-dir "$copy.anchor" >"$work/out" 2>&1
    says "VOID  *since 20"
  fi
  # The same command again completes it, and the ledger has one row of it.
  exits 0 "again after $delay s" dpnmf-curator publish --data-dir "$copy" --anchor-dir "$copy.anchor" --draft "$draft" \
    --approve Ann --accept-linkage 1 --void-guarantee patients --output "$copy.out"
  dpnmf-curator ledger show --data-dir "$copy" --anchor-dir "$copy.anchor" --format json >"$work/out" 2>&1
  [ "$(grep -c '"kind": "void"' "$work/out")" = 1 ] || fail "not one row after $delay s"
  rm -rf "$copy" "$copy.anchor" "$copy.out"
done
[ $killed -gt 0 ] || fail "no publish was killed"

# The guarantee is given up by name.
exits 0 "publish" publish "$work/out.d" --draft "$draft" --approve 'Ann Operator' --accept-linkage 1 --void-guarantee patients
says "NOT PRIVATE"
says "the guarantee of population patients is void, for ever"
cmp "$work/out.d/nd.not-dp.csv" "$draft/table.csv" || fail "another table was published"
for word in '"differentially_private": false' '"approved_by": "Ann Operator"' '"largest_linkage"'; do
  grep -q "$word" "$work/out.d/LABEL.json" || fail "the label lacks $word"
done
exits 0 "ledger show" dpnmf-curator ledger show "${curator_dirs[@]}"
says "VOID  *since 20"
exits 0 "ledger verify" dpnmf-curator ledger verify "${curator_dirs[@]}" --receipts "$work/before.jsonl"
says "VOID since 20"

# From then on the analyst says so too, of the run that had ended before, too.
start_curator || fail "the curator does not come back"
# The analyst's connection to the curator may take a moment.
for _ in $(seq 100); do
  as alice show "$id"
  grep -q VOID "$work/out" && break
  sleep 0.1
done
for page in "show $id" runs datasets "budget --dataset visits" "plan --dataset visits --rank 2 --epsilon 1"; do
  exits 0 "$page" as alice $page
  says "VOID since 20"
done
exits 0 "show as JSON" as alice show "$id" --format json
says '"void_since": "'
exits 0 "receipts" as alice receipts export --output "$work/after.jsonl"
says "3 of them are of a population whose guarantee is VOID since 20"
exits 0 "verify receipts" dpnmf receipts verify "$work/after.jsonl" --key "$data/receipt.pub"
says "all 3 receipts are signed"
says "VOID since 20"
exits 0 "receipts of before" dpnmf receipts verify "$work/before.jsonl" --key "$data/receipt.pub"
sed 's/"void_since": *"\([0-9]*\)"/"void_since":"1"/' "$work/after.jsonl" >"$work/forged.jsonl"
cmp -s "$work/after.jsonl" "$work/forged.jsonl" && fail "nothing was forged"
exits 8 "a forged mark" dpnmf receipts verify "$work/forged.jsonl" --key "$data/receipt.pub"
says receipt-invalid
exits 0 "a run all the same" as alice train --spend-again --dataset visits --rank 2 --rounds 2 --epsilon 1 --wait
says "VOID since 20"
exits 0 "the budget agrees" as alice budget --dataset visits --format json
says '"agree": true'
stop_curator
exits 0 "both sides' receipts" dpnmf-curator ledger verify "${curator_dirs[@]}" --receipts "$work/after.jsonl"
exits 0 "doctor" dpnmf-curator doctor $(curator_flags)
says "is void since"
says "The people of published tables are known."

# Who was published is imported under no new guarantee.
head -n 20 "$work/patients.csv" > "$work/some.csv"
exits 7 "import of who was published" dpnmf-curator import --name more --population others --input "$work/some.csv" --users rows \
  --id-column 1 --class-column 6 --classes yes,no --epsilon 1 --delta 1e-6 "${curator_dirs[@]}"
says people-published
echo "the door passed"
