#!/usr/bin/env bash
# online.sh SOURCE BIN: data sets that are imported while the curator serves, with
# the three programs over mutual TLS on loopback: a new population, a policy that
# cannot change, a run on the new data set while another goes on, kill -9.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

# Other people: a population has its own.
for file in strangers weak; do awk -F, -v OFS=, -v add=${#file} '{ $1 += add; print }' "$work/people.csv" >"$work/$file.csv"; done
cp "$work/people.csv" "$work/group.csv"
import() { # NAME POPULATION FLAG...
  dpnmf-curator import --name "$1" --population "$2" --input "$work/$2.csv" --users rows --delta "${delta:-1e-6}" --data-dir "$data" "${@:3}"
}
online() { import "$@" --online; }
datasets() { as alice datasets; grep -cE "^(people|more|others|late) " "$work/out"; }

exits 0 "import" import people group --epsilon 8 --anchor-dir "$work/anchor"
exits 7 "no server" online more group --epsilon 8
says server-not-running
[ ! -e "$data/datasets/more" ] || fail "a refused import left a data set"
start_curator || fail "curator"
start_analyst || fail "analyst"
[ "$(stat -c %a "$data/control.sock")" = 600 ] || fail "the mode of the control socket"
exits 7 "the ledger is held" import more group --epsilon 8 --anchor-dir "$work/anchor"
says data-dir-in-use

# A run goes on meanwhile.
exits 0 "train" as alice train --dataset people --rank 2 --rounds 400 --epsilon 1
run=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
await_rounds "$run" 3
exits 0 "the same population" online more group --epsilon 8
exits 0 "another one" online others strangers --epsilon 2 --format json
says '"name": "others"'
[ "$(datasets)" = 3 ] || fail "the server does not serve what was imported"
exits 7 "another policy" online late group --epsilon 9
says population-differs
delta=1e-7 exits 7 "another delta of the new population" online late strangers --epsilon 2
says population-differs
exits 7 "a name in use" online more group --epsilon 8
says dataset-exists
delta=0.5 exits 2 "a weak delta" online late weak --epsilon 2
says delta-weak
exits 2 "what needs the ledger" online late group --epsilon 8 --void-guarantee
says flags-conflict
[ ! -e "$data/datasets/late" ] || fail "a refused import left a data set"
[ "$(datasets)" = 3 ] || fail "a refused import is served"
exits 0 "train on the new one" as alice train --dataset others --rank 2 --epsilon 1 --even-if-unreliable --wait
exits 0 "the first run is done" as alice watch "$run"
printf '%s\n' 1,0 1,0 1,0 1,0 0,1 0,1 0,1 0,1 >"$work/W.csv"
exits 0 "H beside the server" dpnmf-curator transform --data-dir "$data" --name others --model "$work/W.csv" --output "$work/H.csv"
[ "$(wc -l <"$work/H.csv")" = 301 ] || fail "H has another number of people"
grep -q '"event":"transform-asked".*"dataset":"others"' "$data/audit.jsonl" || fail "H is not in the audit log"
agrees
grep -q '"event":"dataset-added".*"dataset":"others"' "$data/audit.jsonl" || fail "no entry of the audit log"

# Killed, its socket is left; the next server has all data sets and a socket.
kill -KILL $curator_pid
wait $curator_pid 2>/dev/null
exits 7 "a dead server's socket" online late group --epsilon 8
says server-not-running
start_curator || fail "the curator does not come back"
exits 0 "again" online late group --epsilon 8
[ "$(datasets)" = 4 ] || fail "a data set is missing"
kill -TERM $curator_pid
wait $curator_pid || fail "the curator's exit code"
[ ! -e "$data/control.sock" ] || fail "the socket outlives its server"
exits 0 "the ledger" dpnmf-curator ledger verify --data-dir "$data" --anchor-dir "$work/anchor"
echo "online passed"
