#!/usr/bin/env bash
# refits.sh SOURCE BIN: what a paid release is worth, with the curator away: models
# of it that cost nothing, kill -9 of the analyst among them, and the release in
# the hands of another analyst.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

ledger_bytes() { find "$data/ledger" "$work/anchor" -type f | sort | xargs sha256sum; }
# The ids that a command has printed.
ids() { grep -oE '^[0-9a-f]{32}' "$work/out"; }
model() { exits 0 "model $1" as alice model "$1" --output "$work/$2"; }

dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import"
start_curator || fail "curator"
start_analyst || fail "analyst"
exits 0 "train" as alice train --dataset people --rank 2 --epsilon 1 --seed 3 --request-id monday --even-if-unreliable
paid=$(ids | head -n 1)
exits 0 "watch" as alice watch "$paid"
exits 0 "the same request" as alice train --dataset people --rank 2 --epsilon 1 --seed 3 --request-id monday --even-if-unreliable
[ "$(ids | head -n 1)" = "$paid" ] || fail "the same request is another run"
exits 7 "another request" as alice train --dataset people --rank 3 --epsilon 1 --request-id monday --even-if-unreliable
says request-differs
exits 7 "what is paid for" as alice train --dataset people --rank 3 --epsilon 1 --even-if-unreliable
says "dpnmf refit ${paid:0:12} --rank 3' gives a model from it for free.*release-paid"
exits 0 "train with a prior" as alice train --dataset people --rank 2 --epsilon 0.2 --even-if-unreliable --spend-again \
  --prior "$work/people.csv" --users rows --wait
exits 2 "a prior of another mechanism" as alice train --dataset people --rank 2 --epsilon 0.2 --even-if-unreliable \
  --mechanism statistics --prior "$work/people.csv" --users rows
says prior-unused
kill -TERM $curator_pid
wait $curator_pid
before=$(ledger_bytes)

exits 0 "refits" as alice refit "$paid" --rank 2:4 --seed 3 --wait
set -- $(ids)
[ $# = 3 ] || fail "$# children, not 3"
model "$paid" paid.npy
model "$1" child.npy
cmp -s "$work/paid.npy" "$work/child.npy" || fail "the same rank and seed give other bits"
exits 0 "compare" as alice compare "$1" "$2"
exits 0 "top" as alice top "$3"
exits 0 "transform" as alice transform "$3" --input "$work/people.csv" --output "$work/H.npy"
exits 0 "runs" as alice runs
says "refit of ${paid:0:8}"
model "$2" first.npy

# With what is public beside it.
public=(--prior "$work/people.csv" --users rows)
exits 0 "a prior" as alice refit "$paid" --rank 2 --seed 3 "${public[@]}" --wait
prior=$(ids)
[ "$prior" != "$paid" ] && [ "$prior" != "$1" ] || fail "a prior makes no other run"
model "$prior" prior.npy
says "of the estimate came from the prior"
exits 0 "a run as a prior" as alice refit "$paid" --rank 2 --seed 3 --prior "run:$paid" --wait
exits 0 "without the prior" as alice refit "$prior" --rank 2 --seed 3 --prior none --wait
model "$(ids)" without.npy
cmp -s "$work/paid.npy" "$work/without.npy" || fail "without its prior a fit has other bits"
exits 2 "other features" as alice refit "$paid" --prior "$work/paid.npy,$work/people.csv"
says prior-features-differ
cp "$work/people.csv" "$work/copy.csv"

# With a declared order of the features.
exits 0 "an order" as alice refit "$paid" --rank 2 --seed 3 --feature-order linear --wait
ordered=$(ids)
[ "$ordered" != "$paid" ] && [ "$ordered" != "$1" ] || fail "an order makes no other run"
exits 0 "without the order" as alice refit "$ordered" --rank 2 --seed 3 --feature-order none --wait
model "$(ids)" unordered.npy
cmp -s "$work/paid.npy" "$work/unordered.npy" || fail "without its order a fit has other bits"
exits 2 "a width that divides nothing" as alice refit "$paid" --image-width 999
says image-width-invalid
exits 2 "an order that nobody knows" as alice refit "$paid" --feature-order spiral
says feature-order-unknown
printf '0 1\n1,2\n' > "$work/graph.txt"
exits 0 "a graph" as alice refit "$paid" --rank 2 --seed 3 --feature-order "graph:$work/graph.txt" --wait
printf '0 1\n1\n' > "$work/graph.txt"
exits 2 "an edge with one end" as alice refit "$paid" --feature-order "graph:$work/graph.txt"
says feature-graph-invalid

# Killed with fits under way; they are made when the server is back.
exits 0 "more refits" as alice refit "$paid" --rank 3:6 --seed 4
killed=$(ids)
exits 0 "a refit with a prior" as alice refit "$paid" --rank 2 --seed 3 --prior "$work/copy.csv" --users rows
copied=$(ids)
kill -KILL $analyst_pid
wait 2>/dev/null
start_analyst || fail "second start"
for id in $killed $copied; do exits 0 "watch $id" as alice watch "$id"; done
model "$copied" copied.npy
cmp -s "$work/prior.npy" "$work/copied.npy" || fail "a killed fit with a prior has other bits"
exits 0 "the same refit" as alice refit "$paid" --rank 3 --seed 3 --wait
[ "$(ids)" = "$2" ] || fail "the same refit is another run"
exits 0 "export" as alice export "$paid" --moments --output "$work/release.npz"
exits 0 "bundle" as alice export "$paid" --bundle "$work/release"
exits 0 "forget" as alice forget "$paid"
exits 0 "refit of a child" as alice refit "$2" --rank 5 --seed 9 --wait
kill -TERM $analyst_pid
wait $analyst_pid || fail "the analyst's exit code"

# Another analyst, which has never seen the curator.
state=other
start_analyst || fail "another analyst"
exits 7 "without a key" as alice add-release "$work/release"
says receipt-key-unknown
kill -TERM $analyst_pid
wait $analyst_pid || fail "the other analyst's exit code"
start_analyst --receipt-key "$data/receipt.pub" || fail "another analyst with the key"
exits 0 "add" as alice add-release "$work/release"
exits 0 "watch" as alice watch "$paid"
model "$paid" added.npy
cmp -s "$work/paid.npy" "$work/added.npy" || fail "the added release gives other bits"
exits 0 "refit there" as alice refit "$paid" --rank 3 --seed 3 --wait
model "$(ids)" theirs.npy
cmp -s "$work/first.npy" "$work/theirs.npy" || fail "a refit there gives other bits"
cp "$work/release" "$work/changed"
printf '\x55' | dd of="$work/changed" bs=1 seek=2000 conv=notrunc status=none
exits 2 "a changed file" as alice add-release "$work/changed"
says release-file-malformed

[ "$(ledger_bytes)" = "$before" ] || fail "the ledger has changed"
kill -TERM $analyst_pid
wait $analyst_pid || fail "the other analyst's exit code"
start_curator || fail "the curator is back"
state=state
start_analyst || fail "the first analyst is back"
as alice budget --dataset people --format json
says '"agree": true'
says '"own_charge_count": "3"'
echo "refits passed"
