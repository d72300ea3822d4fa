#!/usr/bin/env bash
# stopping.sh SOURCE BIN: learning that would take many minutes ends when the run
# is cancelled and when either server gets SIGTERM. The limits are far above what
# an end takes and far below what the learning would take.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

# Ends PID with SIGTERM within 60 s.
ends() { # PID WHAT
  kill -TERM "$1"
  for _ in $(seq 600); do
    kill -0 "$1" 2>/dev/null || { wait "$1" && return 0; fail "$2: exit $?"; }
    sleep 0.1
  done
  fail "$2 does not end"
}
# The run's first round is charged, and its release is not yet learned from.
await_under_way() {
  for _ in $(seq 1200); do
    as alice budget --dataset wide --format json
    grep -q '"round": ' "$work/out" && return 0
    sleep 0.1
  done
  fail "no charge is under way"
}

# 4,000 features of 200 people. 10,000 steps at rank 128 are 6.6e11 multiplications.
awk 'BEGIN { for (n = 0; n < 200; ++n) { line = "";
  for (d = 0; d < 4000; ++d) line = line (d ? "," : "") (n * 7 + d * d) % 5;
  print line } }' >"$work/wide.csv"
exits 0 "import" dpnmf-curator import --name wide --population group --input "$work/wide.csv" --users rows \
  --epsilon 8 --delta 1e-6 "${curator_dirs[@]}"
start_curator || fail "curator"
start_analyst || fail "analyst"
long=(train --dataset wide --rank 128 --mechanism statistics --rounds 3 --epsilon 1 --steps-per-round 10000 --even-if-unreliable)

exits 0 "start" as alice "${long[@]}"
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
await_under_way
exits 0 "cancel" as alice cancel "$id"
timeout 60 dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) watch "$id" >"$work/out" 2>&1
[ $? = 9 ] || fail "the cancelled run does not end"
as alice show "$id" --format json
says '"state": "RUN_STATE_CANCELLED"'
says '"rounds_done": 1'
as alice budget --dataset wide --format json
says '"agree": true'

# The analyst is stopped in the middle of learning, and the run goes on later.
exits 0 "start again" as alice "${long[@]}"
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
await_under_way
ends $analyst_pid "the analyst"
start_analyst || fail "the analyst does not come back"
await_under_way
# So is the curator, whose stream is open and silent meanwhile.
ends $curator_pid "the curator"
start_curator || fail "the curator does not come back"
exits 0 "cancel after all that" as alice cancel "$id"
timeout 60 dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) watch "$id" >"$work/out" 2>&1
[ $? = 9 ] || fail "the cancelled run does not end after a restart"
as alice budget --dataset wide --format json
says '"agree": true'
says '"own_charge_count": "2"'
ends $analyst_pid "the analyst at the end"
ends $curator_pid "the curator at the end"
echo "passed"
