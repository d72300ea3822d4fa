#!/usr/bin/env bash
# ratings.sh SOURCE BIN: the three programs over mutual TLS on loopback, on
# ratings: import, plan, train, model, budget and receipts; kill -9 of either
# server in mid-run; refusals; a population under one_rating; paced mode.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"


# 400 people, 40 items of two kinds; a person likes one of them. Generated here.
ratings() { # MOST
  awk -v most="$1" 'BEGIN { for (n = 1; n <= 400; ++n) for (i = 1; i <= 40; ++i)
    if ((n * 31 + i * 17) % 7 < most) {
      r = 3 + (n % 2 == i % 2 ? 1 : -1) + ((n * i) % 5 - 2) / 4
      printf "%d\t%d\t%.1f\n", n, i, r } }'
}
ratings 2 > "$work/films.tsv"
ratings 3 > "$work/single.tsv"
seq 40 > "$work/items.txt"
awk 'BEGIN { print "item,name,year,kind"; for (i = 1; i <= 40; ++i)
  printf "%d,Film %d,%d,%s\n", i, i, 1960 + i % 9, i % 2 ? "odd" : "even" }' > "$work/features.csv"
import() { # NAME POPULATION FLAG...
  local name=$1 population=$2
  shift 2
  dpnmf-curator import --name "$name" --population "$population" --ratings "$work/$name.tsv" \
    --items "$work/items.txt" --users-count 400 --rating-range 1,5 --delta 1e-6 "${curator_dirs[@]}" "$@"
}
exits 0 "import" import films readers --item-features "$work/features.csv" --epsilon 4
exits 0 "import under one_rating" import single raters --epsilon 4 --adjacency one_rating
# A population has one relation, and the same people have one population.
cp "$work/films.tsv" "$work/again.tsv"
exits 7 "another relation" import again readers --epsilon 4 --adjacency one_rating
says population-differs
exits 7 "another population" import again others --epsilon 4 --adjacency one_rating
says data-known
dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import of counts"
exits 2 "counts under one_rating" dpnmf-curator import --name counts --population others \
  --input "$work/people.csv" --users rows --epsilon 4 --delta 1e-6 --adjacency one_rating "${curator_dirs[@]}"
says adjacency-mismatch

start_curator || fail "curator"
start_analyst || fail "analyst"
exits 0 "list" as alice datasets
says "ratings 1 to 5"
says one_rating
exits 0 "plan" as alice plan --dataset films --epsilon 1 --details
says "mechanism  *ratings"
says "shares of the cost  *items"
says "The noise in the count of an item is that of"
says "^  co-ratings"
exits 0 "plan of a choice" as alice plan --dataset films --epsilon 1 --mechanism ratings --rank 4 --moment-rows 10 \
  --shares 0.5,0.2,0.25,0,0.05 --profile-directions 2 --rounds 5 --format json
says '"moment_rows": 10'
says '"profile_directions": 2'
grep -q residuals "$work/out" && fail "a release without a share is planned"
exits 2 "counts with ratings" as alice plan --dataset people --rank 2 --epsilon 1 --mechanism ratings
says mechanism-mismatch
exits 2 "ratings with moments" as alice plan --dataset films --rank 2 --epsilon 1 --mechanism moments
says mechanism-mismatch
exits 2 "shares of too much" as alice plan --dataset films --epsilon 1 --shares 0.5,0.5,0.5,0,0
exits 2 "counts without a rank" as alice plan --dataset people --epsilon 1
exits 2 "a first dictionary" as alice plan --dataset films --epsilon 1 --mechanism ratings --rank 2 \
  --init "public:$work/people.csv"

exits 0 "train" as alice train --dataset films --epsilon 1 --wait
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
rounds_done=$(rounds "$id")
exits 0 "budget" as alice budget --dataset films --format json
says '"agree": true'
exits 0 "show" as alice show "$id"
says ratings
exits 0 "watch" as alice watch "$id"
says "output items.npz"
exits 7 "standard errors" as alice model "$id" --output "$work/W.npy" --errors "$work/E.npy"
exits 7 "a refit" as alice refit "$id"
says "is on ratings and holds no release of second moments"
exits 2 "a flag without effect" as alice plan --dataset films --epsilon 1 --outliers on
says flag-unused
exits 0 "a forecast of noise" as alice plan --dataset films --epsilon 0.01
says "The noise in counts is larger than the number of people"
# The model as people use it, and lists on the curator's machine.
exits 0 "items" as alice model "$id" --output "$work/items.npz"
says "40 items"
exits 0 "items as text" as alice model "$id" --output "$work/items.csv"
exits 2 "items as a dictionary" as alice model "$id" --output "$work/W.npy"
exits 0 "similar items" as alice model "$id" --similar "film 3"
says "nearest to Film 3"
exits 4 "a mistyped item" as alice model "$id" --similar "Flim 3"
says "Film 3"
lists() { dpnmf-curator recommend --data-dir "$data" --name films "$@"; }
exits 0 "a list" lists --model "$work/items.npz" --user 7 --explain
cp "$work/out" "$work/list"
exits 0 "a list from text" lists --model "$work/items.csv" --explain --user-file - <<<7
cmp "$work/out" "$work/list" || fail "the two formats give two lists"
exits 0 "all lists" lists --model "$work/items.npz" --all --output "$work/lists.csv"
[ "$(stat -c %a "$work/lists.csv")" = 600 ] || fail "the lists can be read by others"
exits 0 "receipts" as alice receipts export --output "$work/receipts.jsonl"
[ "$(wc -l < "$work/receipts.jsonl")" = "$rounds_done" ] || fail "receipts of $rounds_done rounds"
exits 0 "verify receipts" dpnmf receipts verify "$work/receipts.jsonl" --key "$data/receipt.pub"

exits 0 "train under one_rating" as alice train --dataset single --epsilon 1 --wait
exits 0 "budget of raters" as alice budget --dataset single --format json
says ADJACENCY_ONE_RATING

# kill -9 of the curator, then of the analyst, in the middle of a long run. A
# request with other bits than before the kill would be refused.
exits 0 "start" as alice train --dataset films --epsilon 1 --shares 0.4,0.1,0.2,0.1,0.2 --rank 3 \
  --moment-rows 20 --profile-directions 2 --rounds 200
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
kill_both_in_mid_run "$id" 5 200
exits 0 "watch to the end" as alice watch "$id"
exits 0 "show the end" as alice show "$id" --format json
says RUN_STATE_COMPLETED
exits 0 "budget at the end" as alice budget --dataset films --format json
says '"agree": true'
dpnmf-curator ledger verify "${curator_dirs[@]}" --format json >"$work/out" 2>&1 || fail "verify"
says '"ok": true'
dpnmf-curator ledger show "${curator_dirs[@]}" --format json >"$work/out" || fail "ledger"
[ "$(grep -c "$id" "$work/out")" = 202 ] || fail "$(grep -c "$id" "$work/out") rows of the run, not 202"
exits 0 "doctor" dpnmf-curator doctor $(curator_flags)

# Paced mode takes the declared number of ratings.
kill -TERM $curator_pid $analyst_pid
wait $curator_pid || fail "the curator's exit code"
wait $analyst_pid || fail "the analyst's exit code"
most=$(wc -l < "$work/single.tsv")
if timeout 20 dpnmf-curator serve $(curator_flags) --pace-milliseconds 500 --pace-nonzeros $((most - 1)) \
  >"$work/out" 2>&1; then fail "more ratings than declared are served"; fi
says pace-nonzeros-exceeded
start_curator --pace-milliseconds 500 --pace-nonzeros "$most" || fail "paced mode"
start_analyst || fail "analyst of the paced curator"
exits 0 "paced run" as alice train --spend-again --dataset films --epsilon 0.5 --wait
kill -TERM $curator_pid $analyst_pid
wait
echo "ratings passed"
