#!/usr/bin/env bash
# growing.sh SOURCE BIN: a population that grows by the month. Partitions of people
# under one cap, one dictionary of all months, budgets, kill -9 of the curator, and
# the ways around it that an operator or an analyst may try.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

ledger_bytes() { find "$data/ledger" "$work/anchor" -type f | sort | xargs sha256sum; }
ids() { grep -oE '^[0-9a-f]{32}' "$work/out"; }
# A month of 300 people whose ids begin with its name, and whose first entry tells
# them from those of other months.
months=0
month() {
  months=$((months + 1))
  { echo "patient_id,a,b,c,d,e,f,g,h"
    awk -F, -v OFS=, -v m="$1" -v k=$months '{ $1 += k / 8; print m "-" NR, $0 }' "$work/people.csv"; } >"$work/$1.csv"
}
take() { # NAME PARTITION ARGUMENT...
  local name=$1 partition=$2
  shift 2
  dpnmf-curator import --name "$name" --population patients --input "$work/$name.csv" --users rows \
    --disjoint-people-by patient_id --partition "$partition" --epsilon 2 --delta 1e-6 "${curator_dirs[@]}" "$@"
}
budget() { exits 0 "budget of $1" as alice budget --dataset "$1" --format json; cp "$work/out" "$work/$1.budget"; }
largest() { sed -n 's/.*"largest_run": \([0-9.]*\).*/\1/p' "$work/$1.budget"; }

for m in jan feb mar; do month $m; done
exits 2 "partitions that are not declared" take jan jan
says partitions-missing
exits 0 "january" take jan jan --partitions jan,feb,mar
says "partition   jan: runs are charged to it alone"
exits 0 "february" take feb feb

# Nobody is in two partitions, whoever tries it and however.
{ cat "$work/mar.csv"; echo "JAN-7,1,1,1,1,1,1,1,1"; } >"$work/moved.csv"
exits 7 "a person who moves" take moved mar
says people-in-two-partitions
sed 's/^patient_id/visit/' "$work/jan.csv" >"$work/renamed.csv"
exits 2 "another column" take renamed mar
says id-column-missing
exits 7 "another column by name" dpnmf-curator import --name mar --population patients --input "$work/mar.csv" --users rows \
  --disjoint-people-by a --partition mar --epsilon 2 --delta 1e-6 "${curator_dirs[@]}"
says population-differs
exits 2 "a partition that was not declared" take mar apr
says partition-unknown
exits 7 "further partitions" take mar mar --partitions jan,feb,mar,apr
says population-differs
# The same people under ids that were numbered again, with a few more people or not.
sed 's/^jan-/x-/' "$work/jan.csv" >"$work/pseudonyms.csv"
exits 7 "january's data under other ids" take pseudonyms mar
says data-known
awk -F, 'NR == 1 { print } NR > 1 { $2 += NR; print }' OFS=, "$work/jan.csv" >"$work/visits.csv"
exits 0 "january's people again" take visits jan
{ sed 's/^jan-/y-/' "$work/visits.csv"; echo "y-new,1,1,1,1,1,1,1,1"; } >"$work/more.csv"
exits 7 "most of january's data under other ids" take more mar
says rows-in-two-partitions
for name in moved renamed pseudonyms more mar; do [ ! -e "$data/datasets/$name" ] || fail "$name is left behind"; done

start_curator || fail "curator"
start_analyst || fail "analyst"
exits 0 "march, while the server runs" take mar mar --online

# January is paid for first; the other months have not been read.
exits 0 "january alone" as alice train --dataset jan --rank 2 --epsilon 1.5 --even-if-unreliable --wait
jan=$(sed -n 's|^run \([0-9a-f]*\) on .*|\1|p' "$work/out")
exits 3 "january again" as alice train --dataset jan --rank 2 --epsilon 1.5 --even-if-unreliable
says "partition \`jan\`"
for m in jan feb mar; do budget $m; done
grep -q '"partition": "feb"' "$work/feb.budget" || fail "the budget names no partition"
[ "$(largest feb)" = 2 ] && [ "$(largest mar)" = 2 ] || fail "february pays for january"
[ "$(largest jan)" != 2 ] || fail "january is free"

# One dictionary: January is free, the others are started and charged.
exits 2 "without an epsilon" as alice train --datasets jan,feb,mar --rank 2
says "data set 'feb' has no release"
exits 0 "all months" as alice train --datasets jan,feb,mar --rank 2 --epsilon 1.5 --seed 5 --even-if-unreliable --wait
cp "$work/out" "$work/joint.out"
grep -q "run ${jan:0:12} on jan has its release already: nothing is charged" "$work/joint.out" || fail "january is charged again"
[ "$(grep -c "is started and charged" "$work/joint.out")" = 2 ] || fail "two months are not started"
joint=$(sed -n 's/^run \([0-9a-f]\{32\}\) on jan+feb+mar$/\1/p' "$work/joint.out")
[ -n "$joint" ] || fail "no joint run"
for m in jan feb mar; do budget $m; done
[ "$(largest jan)" = "$(largest feb)" ] && [ "$(largest feb)" = "$(largest mar)" ] || fail "the months differ"
says '"agree": true'
exits 0 "show" as alice show "$joint"
says "sum of 3 runs; nothing is charged"
says "on feb of population patients, N 300"
exits 0 "runs" as alice runs
says "jan+feb+mar"
exits 0 "model" as alice model "$joint" --output "$work/joint.npy"
exits 0 "numbers" as alice export "$joint" --moments --output "$work/joint.npz"
exits 7 "no signed release" as alice export "$joint" --bundle "$work/bundle"
says release-unsigned

# The same again costs nothing, in any order, and with the curator away.
before=$(ledger_bytes)
exits 0 "all months again" as alice train --datasets mar,jan,feb --rank 2 --seed 5
[ "$(ids)" = "$joint" ] || fail "the same request is another run"
kill -KILL $curator_pid
wait $curator_pid 2>/dev/null
parents=($(as alice show "$joint" --format json; sed -n '/"joined"/,$ s/.*"run_id": "\([0-9a-f]*\)".*/\1/p' "$work/out"))
exits 0 "a refit of the sum" as alice refit "${parents[2]}" --join "${parents[0]},${parents[1]}" --rank 3 --seed 5 --wait
exits 0 "the same sum" as alice refit "${parents[1]}" --join "${parents[2]},${parents[0]}" --rank 2 --seed 5 --wait
[ "$(ids)" = "$joint" ] || fail "the order of the runs makes another run"
exits 2 "a month twice" as alice refit "$joint" --join "$jan"
says releases-overlap
[ "$(ledger_bytes)" = "$before" ] || fail "the ledger has changed"

# After kill -9 the accounts are what they were; data in no partition are for all.
exits 0 "verify" dpnmf-curator ledger verify "${curator_dirs[@]}"
exits 0 "everybody" dpnmf-curator import --name everybody --population patients --input "$work/jan.csv" --users rows \
  --id-column 1 --epsilon 2 --delta 1e-6 "${curator_dirs[@]}"
says "every run of it is charged to all partitions"
start_curator || fail "the curator does not come back"
for _ in $(seq 200); do as alice datasets && break; sleep 0.1; done
exits 3 "everybody" as alice train --dataset everybody --rank 2 --epsilon 1.5 --even-if-unreliable
says budget-exhausted
exits 0 "everybody, a little" as alice train --dataset everybody --rank 2 --epsilon 0.1 --even-if-unreliable --wait
previous=$(largest jan)
for m in jan feb mar; do
  budget $m
  [ "$(largest $m)" != "$previous" ] || fail "$m has not paid for a run on everybody"
done
exits 0 "ledger" dpnmf-curator ledger show "${curator_dirs[@]}"
says "partitions            of the people, by patient_id; each has the whole cap"
says "mar in mar"
exits 0 "datasets" as alice datasets
says "patients/feb"
kill -TERM $analyst_pid $curator_pid
wait
# Fingerprints that are lost keep everybody out.
mv "$data/datasets/jan/people.bin" "$work/kept"
month apr
exits 4 "without fingerprints" take apr mar
says people-missing
mv "$work/kept" "$data/datasets/jan/people.bin"
mv "$data/datasets/feb" "$work/feb.away"
exits 4 "without a data set that was read" take apr mar
says "The ledger has data set feb"
mv "$work/feb.away" "$data/datasets/feb"
exits 0 "with all of them" take apr mar
# One that nobody has read may come back from where it is.
mv "$data/datasets/apr" "$work/apr.away"
month late
exits 4 "without a data set that nobody has read" take late feb
says "The ledger has data set apr"
exits 7 "its name in no partition" dpnmf-curator import --name apr --population patients --input "$work/late.csv" \
  --users rows --id-column 1 --epsilon 2 --delta 1e-6 "${curator_dirs[@]}"
says partition-differs
# Else the population could never have it again.
exits 7 "its name in another population" dpnmf-curator import --name apr --population others --input "$work/late.csv" \
  --users rows --id-column 1 --epsilon 2 --delta 1e-6 "${curator_dirs[@]}"
says dataset-used
[ ! -e "$data/datasets/apr" ] || fail "the other population has the name"
mv "$work/apr.away" "$data/datasets/apr"
exits 0 "with all of them again" take late feb

# As long as nobody has read it, its name may be taken for others. It does not come
# back then, for its people may be in another partition.
mv "$data/datasets/apr" "$work/apr.away"
mv "$work/apr.csv" "$work/early.csv"
month other
cp "$work/other.csv" "$work/apr.csv"
exits 0 "other people under its name" take apr mar
exits 0 "its people in another partition" take early feb
mv "$data/datasets/apr" "$work/apr.second"
mv "$work/apr.away" "$data/datasets/apr"
start_curator && fail "two partitions have the same people, and both are served"
grep -q "partition-differs" "$work/curator.log" || fail "the server does not say why it stops"
month last
exits 4 "beside it" take last feb
says "the directory of that name holds other people"
mv "$data/datasets/apr" "$work/apr.away"
mv "$work/apr.second" "$data/datasets/apr"

# A name that runs were opened on is never taken again, in its partition or anywhere:
# whoever was read under it would be forgotten. All of these are refused before the file
# is read; that the same is asked again before the data set has its name is not tried here.
start_curator || fail "the curator does not come back"
for online in --online ""; do
  mv "$data/datasets/jan" "$work/jan.away"
  grep -v '^jan-7,' "$work/visits.csv" >"$work/jan.csv"
  exits 7 "january without a person $online" take jan jan $online
  says dataset-used
  exits 7 "january of other people $online" dpnmf-curator import --name jan --population others --input "$work/people.csv" \
    --users rows --epsilon 2 --delta 1e-6 "${curator_dirs[@]}" $online
  says dataset-used
  # One that is served and not read keeps its name for as long as it is served.
  if [ -n "$online" ]; then
    mv "$data/datasets/apr" "$work/apr.second"
    cp "$work/last.csv" "$work/apr.csv"
    mv "$work/jan.away" "$data/datasets/jan"
    exits 7 "april, which is served" take apr mar --online
    says dataset-exists
    mv "$work/apr.second" "$data/datasets/apr"
    kill -TERM $curator_pid
    wait $curator_pid
  else
    mv "$work/jan.away" "$data/datasets/jan"
  fi
done
start_curator || fail "the curator does not start on what was put back"
echo "growing passed"
