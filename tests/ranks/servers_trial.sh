#!/usr/bin/env bash
# servers_trial.sh SOURCE BIN SEED: a curator with ranks and an analyst: refusals,
# a run through faults at random moments, paced mode, and what is left behind.
set -uo pipefail
RANDOM=$3
. "$1/tests/integration/servers.sh"
ranks=(--ranks 3 --threads 1 --ranks-seconds 3)
# Ranks and mpirun of this data directory.
job() { pgrep -f "dpnmf-ranks /.*/socket $data 1" || true; }
ranks_of_job() { pgrep -f "^[^ ]*dpnmf-ranks /.*/socket $data 1" || true; }
# Sockets of the job that listen: address and port as the kernel writes them.
listens() {
  local inodes
  inodes=$(for pid in $(job); do ls -l "/proc/$pid/fd" 2>/dev/null; done | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p' |
    tr '\n' ' ')
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v list="$inodes" '
    BEGIN { count = split(list, inode, " "); for (i = 1; i <= count; ++i) own[inode[i]] = 1 }
    $4 == "0A" && ($10 in own) { print $2 }'
}
nothing_left() { # WHAT
  for _ in $(seq 100); do
    [ -n "$(job)" ] || return 0
    sleep 0.05
  done
  fail "$1 leaves processes behind: $(job | tr '\n' ' ')"
}

dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 4 --delta 1e-6 --shards 3 "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import"
awk '{ sub(/^[^,]*,/, ""); print (NR % 2 ? "a," : "b,") NR "," $0 }' "$work/people.csv" >"$work/labelled.csv"
dpnmf-curator import --name labelled --population others --input "$work/labelled.csv" --users rows --label-columns 2 \
  --class-column 1 --classes a,b --epsilon 4 --delta 1e-6 "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import with classes"

# The same people in three parts, of which this machine has all.
first=1
for last in 30 31 300; do
  sed -n "${first},${last}p" "$work/people.csv" >"$work/part.csv"
  dpnmf-curator import --name inparts --population group --input "$work/part.csv" --users rows --epsilon 4 \
    --delta 1e-6 --shard-of "$first-$last/300" "${curator_dirs[@]}" >"$work/out" 2>&1 || fail "import of a part"
  first=$((last + 1))
done
exits 2 "people with the same rows" dpnmf-curator join-parts --name inparts "${curator_dirs[@]}"
says parts-duplicate
exits 0 "join-parts" dpnmf-curator join-parts --name inparts --accept-equal-rows "${curator_dirs[@]}"

# Refusals, before anything is served.
printf 'localhost slots=2\nnode17 slots=2\n' >"$work/hosts"
serve() { dpnmf-curator serve $(curator_flags) --listen 127.0.0.1:0 "$@"; }
exits 2 "hosts beyond the machine" serve "${ranks[@]}" --hosts "$work/hosts"
says private-network-missing
exits 2 "hosts without ranks" serve --hosts "$work/hosts"
exits 7 "parts without ranks" serve
says ranks-needed
exits 5 "a launcher that is not there" serve "${ranks[@]}" --mpi-run /nonexistent/mpirun
says ranks-missing
exits 5 "a launcher that starts nothing" serve "${ranks[@]}" --mpi-run /bin/true
says ranks-missing
nothing_left "a refusal"

start_curator "${ranks[@]}" || fail "curator"
start_analyst || fail "analyst"
[ "$(ranks_of_job | wc -w)" = 3 ] || fail "not 3 ranks"
[ -n "$(listens)" ] || fail "mpirun has no port, or it is not seen"
outside=$(listens | grep -v '^0100007F:\|^00000000000000000000000001000000:')
[ -z "$outside" ] || fail "the job listens beyond this machine: $outside"
exits 0 "a run" as alice train --dataset people --rank 2 --rounds 5 --epsilon 0.5 --wait
exits 0 "moments" as alice train --dataset people --mechanism moments --rank 2 --epsilon 0.5 --spend-again --wait
exits 0 "people in parts" as alice train --dataset inparts --rank 2 --rounds 3 --epsilon 0.5 --wait
exits 0 "data with classes" as alice train --dataset labelled --rank 2 --rounds 2 --epsilon 0.5 --wait
exits 0 "moments with classes" as alice train --dataset labelled --mechanism moments --rank 2 --epsilon 0.5 --spend-again --wait
charged() { dpnmf-curator ledger show "${curator_dirs[@]}" --format json | grep -c '"kind": "charge"'; }
before=$(charged)

# Faults at random moments while a run goes on: it ends, every round charged once.
rounds=500 faults=6
exits 0 "start" as alice train --dataset people --rank 2 --rounds $rounds --epsilon 1 --seed 7
id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
for ((fault = 0; fault < faults; ++fault)); do
  at=$(rounds "$id")
  [ "$at" -lt $rounds ] || break
  sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
  victims=($(ranks_of_job))
  [ ${#victims[@]} -gt 0 ] || continue
  victim=${victims[$((RANDOM % ${#victims[@]}))]}
  case $((fault % 3)) in
    0) kill -KILL "$victim" ;;
    1) kill -STOP "$victim" ;;
    2) kill -KILL "$(ps -o ppid= -p "$victim")" ;;
  esac 2>/dev/null
  # Rounds that only the next job can have made: a fault while it starts would be another
  # trial, which waits for the limit of a start (a minute).
  at=$(rounds "$id")
  await_rounds "$id" $((at + 3 < rounds ? at + 3 : rounds))
done
[ $fault -ge 3 ] || fail "the run was over after $fault faults"
exits 0 "watch to the end" as alice watch "$id"
agrees
[ "$(charged)" = $((before + rounds)) ] || fail "$(charged) charges, not $((before + rounds))"
dpnmf-curator ledger verify "${curator_dirs[@]}" --format json >"$work/out" 2>&1 || fail "verify"
says '"ok": true'
restarts=$(grep -c "a new job begins" "$work/curator.log")
[ "$restarts" -le $fault ] || fail "$fault faults, $restarts new jobs"

# The end of the curator, in order and by kill -9, is the end of its ranks.
kill -TERM $curator_pid
wait $curator_pid || fail "the curator's exit code"
nothing_left "SIGTERM"
start_curator "${ranks[@]}" || fail "second start"
kill -KILL $curator_pid
wait $curator_pid 2>/dev/null
nothing_left "kill -9 of the curator"

killed=$curator_pid

# Paced mode: the ranks' time is under the tick.
start_curator "${ranks[@]}" --pace-milliseconds 1000 || fail "paced start"
exits 0 "a paced run" as alice train --dataset people --rank 2 --rounds 3 --epsilon 0.2 --wait
agrees
kill -TERM $curator_pid
wait $curator_pid || fail "the paced curator's exit code"
nothing_left "the paced curator"
# A curator that is killed leaves a directory, which the next one removes.
for place in /dev/shm /tmp; do
  [ -z "$(ls -d $place/dpnmf-ranks.$killed.* $place/dpnmf-ranks.$curator_pid.* 2>/dev/null)" ] ||
    fail "a directory is left in $place"
done
