#!/usr/bin/env bash
# three_programs.sh SOURCE BIN: the three programs over mutual TLS on loopback: a run
# to its end, refusals, kill -9 of either server in mid-run, a rolled-back ledger.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

# The largest run, as a page of text shows it.
largest() { sed -n 's/^ *largest run  *epsilon \([0-9.e-]*\).*/\1/p' "$work/out"; }

dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import"
start_curator || fail "curator"
start_analyst || fail "analyst"

exits 0 "list" as alice datasets
says people
exits 0 "plan" as alice plan --dataset people --rank 2 --rounds 5 --epsilon 1
exits 0 "train" as alice train --dataset people --rank 2 --rounds 5 --epsilon 1 --wait
agrees
says '"largest_run": [0-9]'

# Both sides show one number for what may still be asked for. It is accepted as
# it is shown; a little more is not.
exits 0 "budget as text" as alice budget --dataset people
shown=$(largest)
[ -n "$shown" ] || fail "no largest run"
exits 0 "the ledger" dpnmf-curator ledger show "${curator_dirs[@]}"
[ "$(largest)" = "$shown" ] || fail "the ledger shows $(largest), the client $shown"
exits 0 "the largest run" as alice plan --dataset people --rank 2 --rounds 5 --epsilon "$shown"
says "would be accepted"
more=$(awk -v shown="$shown" 'BEGIN { print shown + 0.002 }')
as alice plan --dataset people --rank 2 --rounds 5 --epsilon "$more"
says "largest run $shown,"

exits 0 "model" as alice model "$(dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) runs --format json |
  sed -n 's/.*"run_id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)" --output "$work/W.npy"
[ -s "$work/W.npy" ] || fail "no model"
exits 3 "over budget" as alice train --dataset people --rank 2 --rounds 5 --epsilon 4 --wait
says budget-exhausted
exits 4 "unknown data set" as alice train --dataset nobody --rank 2 --rounds 5 --epsilon 1
exits 2 "rank 0" as alice train --dataset people --rank 0 --rounds 5 --epsilon 1
exits 6 "a stranger" as mallory runs
says identity-unknown

# kill -9 of the curator, then of the analyst, in the middle of a long run.
exits 0 "start" as alice train --dataset people --rank 2 --rounds 400 --epsilon 1 --seed 7
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
kill_both_in_mid_run "$id" 20 400
exits 0 "watch to the end" as alice watch "$id"
agrees
dpnmf-curator ledger verify "${curator_dirs[@]}" --format json >"$work/out" 2>&1 || fail "verify"
says '"ok": true'
charges=$(dpnmf-curator ledger show "${curator_dirs[@]}" --format json | grep -c '"kind": "charge"')
[ "$charges" = 405 ] || fail "$charges charges, not 405"

# SIGTERM ends both in order; an old copy of the ledger is not served.
kill -TERM $analyst_pid $curator_pid
wait $analyst_pid || fail "the analyst's exit code"
wait $curator_pid || fail "the curator's exit code"
cp -r "$work/data" "$work/old"
start_curator || fail "third start"
start_analyst || fail "third start"
exits 0 "one more run" as alice train --dataset people --rank 2 --rounds 2 --epsilon 0.2 --wait
kill -TERM $analyst_pid $curator_pid
wait
rm -rf "$work/data"
cp -r "$work/old" "$work/data"
if start_curator; then fail "a rolled-back ledger is served"; fi
grep -q ledger-behind-anchor "$work/curator.log" || fail "the rollback is not named"

# Paced mode: the flags' refusals, then a run whose rounds leave at ticks.
printf 'ann bread 2\nbob milk 1\ncid bread 1\ncid milk 3\n' > "$work/triples.txt"
printf 'bread\nmilk\n' > "$work/items.txt"
curator_dirs=(--data-dir "$work/paced")
dpnmf-curator import --name baskets --population shoppers --input "$work/triples.txt" --format-in triples \
  --features "$work/items.txt" --users-count 3 --epsilon 4 --delta 1e-6 "${curator_dirs[@]}" >"$work/out" 2>&1 ||
  fail "import of triples"
refuses_pace() { # CODE FLAG...
  local code=$1
  shift
  if timeout 20 dpnmf-curator serve $(curator_flags) "$@" >"$work/out" 2>&1; then fail "serve $* is not refused"; fi
  says "$code"
}
refuses_pace pace-nonzeros-missing --pace-milliseconds 50
refuses_pace pace-nonzeros-exceeded --pace-milliseconds 50 --pace-nonzeros 3
refuses_pace pace-milliseconds --pace-milliseconds 0
refuses_pace pace-milliseconds --pace-nonzeros 4
start_curator --pace-milliseconds 1000 --pace-nonzeros 4 || fail "paced mode"
start_analyst || fail "analyst of the paced curator"
exits 0 "paced run" as alice train --dataset baskets --rank 1 --rounds 2 --epsilon 1 --even-if-unreliable --wait
grep -q 'ticks of 1000 ms' "$work/curator.log" || fail "the log does not say that it is paced"
kill -TERM $analyst_pid $curator_pid
wait

# A trailing slash names the same directory, and the same default anchor.
dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 --data-dir "$work/slash/" >"$work/out" 2>&1 || fail "import with a slash"
curator_dirs=(--data-dir "$work/slash/")
start_curator || fail "serve with a slash"
echo "three programs passed"
