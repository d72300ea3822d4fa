#!/usr/bin/env bash
# processes.sh SOURCE BIN: the three programs over mutual TLS on loopback: a run
# to its end, refusals, kill -9 of either server in mid-run, a rolled-back ledger.
set -uo pipefail
source=$1
PATH=$2:$PATH
work=$(mktemp -d)
curator_pid= analyst_pid=
finish() {
  kill -KILL $curator_pid $analyst_pid 2>/dev/null
  wait 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT
fail() {
  echo "FAILED: $*"
  for log in out curator.log analyst.log; do
    echo "--- $log"
    tail -n 20 "$work/$log" 2>/dev/null
  done
  exit 1
}

# Users with one of two parts; nothing of the machine's is needed.
awk 'BEGIN { for (n = 0; n < 300; ++n) { line = "";
  for (d = 0; d < 8; ++d) line = line (d ? "," : "") ((int(d / 4) == n % 2) ? 1 + (n * 7 + d) % 5 : 0);
  print line } }' > "$work/people.csv"
"$source/deploy/certs.sh" demo "$work/certs" >/dev/null 2>&1 || fail "certificates"
"$source/deploy/certs.sh" issue "$work/certs" mallory --dns mallory.client >/dev/null 2>&1
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' > "$work/allow.json"
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' > "$work/clients.json"

curator_dirs=(--data-dir "$work/data" --anchor-dir "$work/anchor")
tls() { echo --ca "$work/certs/$1/ca.crt" --cert "$work/certs/$1/tls.crt" --key "$work/certs/$1/tls.key"; }
port_in() { sed -n "s/.*$1 127\.0\.0\.1:\([0-9]*\).*/\1/p" "$2" | tail -n 1; }
await_port() { # PATTERN LOG PID
  for _ in $(seq 200); do
    [ -z "$(port_in "$1" "$2")" ] || return 0
    kill -0 "$3" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}
curator_port=0
start_curator() {
  : > "$work/curator.log"
  dpnmf-curator serve "${curator_dirs[@]}" --listen "127.0.0.1:$curator_port" --allow "$work/allow.json" \
    $(tls curator) >>"$work/curator.log" 2>&1 &
  curator_pid=$!
  await_port "on" "$work/curator.log" $curator_pid || return 1
  curator_port=$(port_in on "$work/curator.log")
}
analyst_port=0
start_analyst() {
  : > "$work/analyst.log"
  dpnmf-analyst serve --state-dir "$work/state" --listen "127.0.0.1:$analyst_port" \
    --curator "127.0.0.1:$curator_port" --clients "$work/clients.json" $(tls analyst) >>"$work/analyst.log" 2>&1 &
  analyst_pid=$!
  await_port "listens on" "$work/analyst.log" $analyst_pid || return 1
  analyst_port=$(port_in "listens on" "$work/analyst.log")
}
as() { # WHO ARGUMENT...
  local who=$1
  shift
  dpnmf --server "127.0.0.1:$analyst_port" $(tls "$who") "$@" >"$work/out" 2>&1
}
exits() { # CODE WHAT COMMAND...
  local code=$1 what=$2
  shift 2
  "$@"
  local got=$?
  [ $got = "$code" ] || fail "$what: exit $got, not $code"
}
says() { grep -q -- "$1" "$work/out" || fail "expected '$1'"; }

dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import"
start_curator || fail "curator"
start_analyst || fail "analyst"

exits 0 "list" as alice datasets
says people
exits 0 "plan" as alice plan --dataset people --rank 2 --rounds 5 --epsilon 1
exits 0 "train" as alice train --dataset people --rank 2 --rounds 5 --epsilon 1 --wait
exits 0 "budget" as alice budget --dataset people --format json
says '"agree": true'
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
rounds() { as alice show "$1" --format json; sed -n 's/.*"rounds_done": \([0-9]*\).*/\1/p' "$work/out"; }
exits 0 "start" as alice train --dataset people --rank 2 --rounds 1000 --epsilon 1 --seed 7
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
await_rounds() {
  for _ in $(seq 400); do
    [ "$(rounds "$id")" -ge "$1" ] && return 0
    sleep 0.05
  done
  fail "the run does not go on past round $(rounds "$id")"
}
await_rounds 20
kill -KILL $curator_pid
wait $curator_pid 2>/dev/null
stopped_at=$(rounds "$id")
[ "$stopped_at" -lt 1000 ] || fail "the run was over before the kill"
start_curator || fail "the curator does not come back"
await_rounds $((stopped_at + 5))
kill -KILL $analyst_pid
wait $analyst_pid 2>/dev/null
start_analyst || fail "the analyst does not come back"
exits 0 "watch to the end" as alice watch "$id"
exits 0 "budget after the kills" as alice budget --dataset people --format json
says '"agree": true'
dpnmf-curator ledger verify "${curator_dirs[@]}" --format json >"$work/out" 2>&1 || fail "verify"
says '"ok": true'
charges=$(dpnmf-curator ledger show "${curator_dirs[@]}" --format json | grep -c '"kind": "charge"')
[ "$charges" = 1005 ] || fail "$charges charges, not 1005"

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
paced_dirs=(--data-dir "$work/paced")
dpnmf-curator import --name baskets --population shoppers --input "$work/triples.txt" --format-in triples \
  --features "$work/items.txt" --users-count 3 --epsilon 4 --delta 1e-6 "${paced_dirs[@]}" >"$work/out" 2>&1 ||
  fail "import of triples"
paced=(serve "${paced_dirs[@]}" --listen "127.0.0.1:$curator_port" --allow "$work/allow.json" $(tls curator))
refuses_pace() { # CODE FLAG...
  local code=$1
  shift
  if timeout 20 dpnmf-curator "${paced[@]}" "$@" >"$work/out" 2>&1; then fail "serve $* is not refused"; fi
  says "$code"
}
refuses_pace pace-nonzeros-missing --pace-milliseconds 50
refuses_pace pace-nonzeros-exceeded --pace-milliseconds 50 --pace-nonzeros 3
refuses_pace pace-milliseconds --pace-milliseconds 0
refuses_pace pace-milliseconds --pace-nonzeros 4
: > "$work/curator.log"
dpnmf-curator "${paced[@]}" --pace-milliseconds 1000 --pace-nonzeros 4 >>"$work/curator.log" 2>&1 &
curator_pid=$!
await_port "on" "$work/curator.log" $curator_pid || fail "paced mode"
curator_port=$(port_in on "$work/curator.log")
start_analyst || fail "analyst of the paced curator"
exits 0 "paced run" as alice train --dataset baskets --rank 1 --rounds 2 --epsilon 1 --wait
grep -q 'ticks of 1000 ms' "$work/curator.log" || fail "the log does not say that it is paced"
kill -TERM $analyst_pid $curator_pid
wait

# A trailing slash names the same directory, and the same default anchor.
dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 --data-dir "$work/slash/" >"$work/out" 2>&1 || fail "import with a slash"
curator_dirs=(--data-dir "$work/slash/")
start_curator || fail "serve with a slash"
echo "three programs passed"
