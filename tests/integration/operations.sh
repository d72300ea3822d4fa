#!/usr/bin/env bash
# operations.sh SOURCE BIN: tests the work of an operator with the real programs
# over mutual TLS on loopback: health, doctor, reloaded lists, audit logs, metrics,
# an early cancel, the stored state after kill -9, backup, restore, deletion, a run
# whose analyst does not come back, another receipt key, revocation.
set -uo pipefail
. "${BASH_SOURCE%/*}/servers.sh"

for name in bob root; do certs issue "$work/certs" $name --dns $name.client; done
put() { printf '%s\n' "$2" >"$1.new" && chmod 600 "$1.new" && mv "$1.new" "$1"; }
grants='{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["people"], "budgets": [{"population": "group", "epsilon": 4}]}]}'
put "$work/allow.json" "$grants"
put "$work/clients.json" '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}, {"identity": "dns:root.client", "roles": ["operator"]}]}'

metrics_in() { sed -n 's,.*http://127\.0\.0\.1:\([0-9]*\)/metrics.*,\1,p' "$1" | tail -n 1; }
curator_flags() {
  echo --data-dir "$data" --anchor-dir "$work/anchor" --allow "$work/allow.json" $(tls curator) \
    --crl "$work/certs/curator/ca.crl" --metrics-listen 127.0.0.1:0
}
analyst_flags() {
  echo --state-dir "$work/state" --curator "127.0.0.1:$curator_port" --clients "$work/clients.json" $(tls analyst) \
    --crl "$work/certs/analyst/ca.crl" --metrics-listen 127.0.0.1:0 --log-json
}
page() { exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3 && exec 3>&-; }
eventually() { # WHAT COMMAND...
  local what=$1
  shift
  for _ in $(seq 300); do
    "$@" && return 0
    sleep 0.1
  done
  fail "$what"
}
train=(train --spend-again --dataset people --rank 2 --rounds 3 --epsilon 0.2)
start_run() { # ROUNDS EPSILON: sets $id
  exits 0 "start" as alice train --spend-again --dataset people --rank 2 --rounds "$1" --epsilon "$2"
  id=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
}
state() { as alice show "$1" --format json; sed -n 's/.*"state": "RUN_STATE_\([A-Z]*\)".*/\1/p' "$work/out"; }
is() { [ "$(state "$1")" = "$2" ]; }
past() { [ "$(rounds "$1")" -gt "$2" ]; }

exits 0 "import" dpnmf-curator import --name people --population group --input "$work/people.csv" --users rows \
  --epsilon 8 --delta 1e-6 --data-dir "$data" --anchor-dir "$work/anchor" --format json
for stage in reading checking writing ledger opening; do says "\"stage\": \"$stage\""; done
exits 0 "factorize" dpnmf-lab factorize --input "$work/people.csv" --users rows --rank 2 --output "$work/W.npy" --format json
for stage in reading "first W" people W; do says "\"stage\": \"$stage\""; done
start_curator || fail "curator"
start_analyst || fail "analyst"

# Health: open to the server itself and to the identities on the list.
exits 0 "health of the curator" dpnmf-curator --health --listen "127.0.0.1:$curator_port" $(tls curator)
exits 0 "health for one who is on the list" dpnmf-curator --health --listen "127.0.0.1:$curator_port" $(tls analyst)
exits 6 "no health for a stranger" dpnmf-curator --health --listen "127.0.0.1:$curator_port" $(tls mallory)
exits 0 "health of the analyst" dpnmf-analyst --health --listen "127.0.0.1:$analyst_port" $(tls alice)
exits 6 "no health for a stranger" dpnmf-analyst --health --listen "127.0.0.1:$analyst_port" $(tls mallory)

# The checklists: without a fault, then with one fault.
exits 0 "doctor of the curator" dpnmf-curator doctor $(curator_flags)
says "are verified"
says "No errors, [1-9][0-9]* warning"
exits 0 "doctor of the analyst" dpnmf-analyst doctor $(analyst_flags)
says "offers 1 data set\."
chmod 755 "$data"
exits 7 "doctor sees an open data directory" dpnmf-curator doctor $(curator_flags)
says "chmod 0700"
chmod 700 "$data"
put "$work/allow.json" '{"peers": [{"identity": "dns:analyst", "role": "analyst"}]}'
exits 7 "doctor sees a broken list" dpnmf-curator doctor $(curator_flags) --format json
says '"result": "failed"'
put "$work/allow.json" "$grants"

# An address in use, and one without a server: one sentence each, without gRPC's text.
exits 0 "another data set" dpnmf-curator import --name people --population others --input "$work/people.csv" --users rows \
  --epsilon 1 --delta 1e-6 --data-dir "$work/other"
exits 5 "an address in use" dpnmf-curator serve --data-dir "$work/other" --allow "$work/allow.json" $(tls curator) \
  --listen "127.0.0.1:$curator_port"
says "Cannot listen on 127.0.0.1:$curator_port.*listen-failed"
! grep -q 'gRPC\|children' "$work/out" || fail "gRPC's own words"
exits 5 "health where nothing listens" dpnmf-curator health --listen 127.0.0.1:1 $(tls curator)
says "No server listens at 127.0.0.1:1.*port-closed"
exits 2 "no certificate" "$source/deploy/certs.sh" show "$work/none"
[ "$(wc -l <"$work/out")" = 1 ] || fail "certs.sh show says more than a sentence"

# Lists are read again without a restart.
exits 6 "bob is not on the list" as bob runs
put "$work/clients.json" '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}, {"identity": "dns:bob.client", "roles": ["analyst"]}, {"identity": "dns:root.client", "roles": ["operator"]}]}'
exits 0 "bob is" as bob runs
put "$work/allow.json" '{"peers": []}'
exits 7 "the analyst is not" as alice datasets
put "$work/allow.json" "$grants"
exits 0 "the analyst is again" as alice "${train[@]}" --wait

# Roles.
start_run 400 0.2
exits 6 "another client does not end it" as bob cancel "$id"
says run-of-another
exits 6 "an operator starts nothing" as root "${train[@]}"
says role-missing
exits 0 "an operator ends it" as root cancel "$id"
eventually "cancelled" is "$id" CANCELLED

# A cancel takes effect however early it is, and returns everything that was not charged.
for _ in 1 2 3 4 5 6; do
  start_run 400 0.2
  exits 0 "cancel at once" as alice cancel "$id"
  eventually "cancelled" is "$id" CANCELLED
done
exits 0 "cancel twice" as alice cancel "$id"
dpnmf-curator ledger show --data-dir "$data" --anchor-dir "$work/anchor" --format json >"$work/out" 2>&1 || fail "ledger show"
grep -A1 '"reserved"' "$work/out" | grep -q '"units": "0"' || fail "something is still reserved"

# kill -9 of the analyst during a run: the list of runs is correct afterwards.
start_run 400 0.4
eventually "the run begins" past "$id" 5
kill -KILL $analyst_pid
wait $analyst_pid 2>/dev/null
start_analyst || fail "the analyst does not come back"
exits 0 "runs" as alice runs --format json
[ "$(grep -c '"run_id"' "$work/out")" = 9 ] || fail "a run is missing"
[ "$(grep -c RUN_STATE_CANCELLED "$work/out")" = 7 ] || fail "a cancelled run is not"
exits 0 "watch to the end" as alice watch "$id"
[ "$(rounds "$id")" = 400 ] || fail "not all rounds"
agrees

# Without its audit log the curator charges nothing; with it the run continues.
start_run 400 0.2
eventually "the run begins" past "$id" 5
# In one step: a log that is not there is started.
ln "$data/audit.jsonl" "$data/audit.kept"
ln -s /dev/full "$data/audit.full"
mv -T "$data/audit.full" "$data/audit.jsonl"
charged() { dpnmf-curator ledger verify --data-dir "$data" --anchor-dir "$work/anchor" | grep -oE '[0-9]+ rows'; }
eventually "a run waits for the audit log" is "$id" WAITING
before=$(charged)
exits 5 "nothing is planned either" as alice plan --dataset people --rank 2 --epsilon 0.1
says audit-failed
[ "$(charged)" = "$before" ] || fail "a row without an entry"
mv -T "$data/audit.kept" "$data/audit.jsonl"
exits 0 "it goes on" as alice watch "$id"

# Every round that the analyst received is in the curator's log under the same request.
sed -n 's/.*"event":"round-received","request":"\([^"]*\)".*"round":\([0-9]*\).*/\1 \2/p' "$work/state/audit.jsonl" | sort >"$work/received"
sed -n 's/.*"event":"round-released","request":"\([^"]*\)".*"round":\([0-9]*\).*/\1 \2/p' "$data/audit.jsonl" | sort >"$work/released"
[ "$(wc -l <"$work/received")" -ge 803 ] || fail "$(wc -l <"$work/received") rounds in the analyst's audit log"
[ -z "$(comm -23 "$work/received" "$work/released")" ] || fail "the audit logs name requests differently"
grep -q '"event":"call".*dns:bob.client.*"result":"run-of-another"' "$work/state/audit.jsonl" || fail "a refusal is not in the audit log"
grep -q '"level":"info"' "$work/analyst.log" || fail "the log is not JSON"

# Metrics, on their own ports.
page "$(metrics_in "$work/curator.log")" >"$work/out"
says 'dpnmf_curator_epsilon{population="group",reading="largest_run"}'
says 'dpnmf_curator_round_seconds_count{dataset="people",result="released"}'
page "$(metrics_in "$work/analyst.log")" >"$work/out"
says 'dpnmf_analyst_call_seconds_count{method="GetRun"}'

# Deletion removes the run; its charges stay.
exits 0 "forget" as alice forget "$id"
exits 4 "it is gone" as alice show "$id"
agrees
releases() { ls "$data/releases" | wc -l; }
before=$(releases)
exits 0 "delete its releases at the curator" dpnmf-curator forget --run "$id" --data-dir "$data" --anchor-dir "$work/anchor"
[ "$(releases)" = $((before - 400)) ] || fail "its releases are still there"
agrees

# Backup while both servers run; only the latest backup can be restored.
exits 0 "backup" dpnmf-curator backup --output "$work/first" --data-dir "$data"
exits 0 "a run after it" as alice "${train[@]}" --wait
exits 0 "second backup" dpnmf-curator backup --output "$work/second" --data-dir "$data"
kill -TERM $curator_pid
wait $curator_pid || fail "the curator's exit code"
mv "$data" "$work/lost"
restore() { dpnmf-curator restore --from "$1" --data-dir "$data" --anchor-dir "$work/anchor"; }
exits 8 "a backup that lacks charges" restore "$work/first"
says ledger-behind-anchor
[ ! -e "$data" ] || fail "something was restored"
exits 0 "any backup, without an anchor" dpnmf-curator restore --from "$work/first" --data-dir "$work/unanchored" --no-anchor
says "warning: .*charges that were made after it are forgotten"
exits 0 "the latest backup" restore "$work/second"
start_curator || fail "the restored curator does not serve"
exits 0 "a run on what was restored" as alice "${train[@]}" --wait
agrees

# The operator closes a run whose analyst does not come back.
start_run 400 0.2
eventually "the run begins" past "$id" 5
kill -KILL $analyst_pid
wait $analyst_pid 2>/dev/null
close_run() { dpnmf-curator close --run "$id" --data-dir "$data" --anchor-dir "$work/anchor"; }
exits 7 "no run is closed under a server" close_run
says data-dir-in-use
kill -TERM $curator_pid
wait $curator_pid || fail "the curator's exit code"
exits 0 "the operator closes it" close_run
says "available again"
exits 7 "it is closed" close_run
says run-closed
grep -q '"event":"run-closed-by-operator"' "$data/audit.jsonl" || fail "the close is not in the audit log"
dpnmf-curator ledger show --data-dir "$data" --anchor-dir "$work/anchor" --format json >"$work/out" 2>&1 || fail "ledger show"
grep -A1 '"reserved"' "$work/out" | grep -q '"units": "0"' || fail "something is still reserved"

# The curator restarts with another receipt key: nothing is charged until the analyst's operator gives the new key.
mv "$data/receipt.key" "$work/old.key"
start_curator || fail "the curator does not come back"
start_analyst || fail "the analyst does not come back"
eventually "the closed run has failed" is "$id" FAILED
before=$(charged)
exits 9 "a run with another receipt key" as alice "${train[@]}" --wait
says receipt-key-changed
[ "$(charged | cut -d' ' -f1)" -le $((${before% rows} + 2)) ] || fail "a round was charged"
kill -TERM $analyst_pid
wait $analyst_pid || fail "the analyst's exit code"
start_analyst --receipt-key "$data/receipt.pub" || fail "the analyst does not come back"
grep -q '"event":"receipt-key-given"' "$work/state/audit.jsonl" || fail "the key is not in the audit log"
exits 0 "a run with the key that was given" as alice "${train[@]}" --wait

# Revocation takes effect at the next call.
exits 0 "doctor of the client" dpnmf doctor --server "127.0.0.1:$analyst_port" $(tls alice) --crl "$work/certs/alice/ca.crl"
certs revoke "$work/certs" "$work/certs/alice/tls.crt"
exits 5 "a revoked client" as alice runs
says "ended the connection: .*revoked"
grep -q 'certificate-revoked' "$work/analyst.log" || fail "the log does not say that it was revoked"
exits 7 "its doctor says so" dpnmf doctor --server "127.0.0.1:$analyst_port" $(tls alice) --crl "$work/certs/alice/ca.crl"
says "has been revoked"
certs issue "$work/certs" alice --dns alice.client
exits 0 "with another certificate" as alice runs

# Refused calls that share an entry of the audit log are written before the end.
cp "$work/allow.json" "$work/allow.kept"
echo '{"peers": [{"identity": "dns:nobody", "roles": ["analyst"], "datasets": ["*"]}]}' >"$work/allow.json"
for _ in 1 2 3; do as alice datasets && fail "a server that is not on the list is served"; done
says analyst-not-admitted
cp "$work/allow.kept" "$work/allow.json"
kill -TERM $analyst_pid $curator_pid
wait $analyst_pid || fail "the analyst's exit code"
wait $curator_pid || fail "the curator's exit code"
grep -q '"event":"calls-refused"' "$data/audit.jsonl" || fail "the refused calls are not in the curator's audit log"
tail -n 1 "$data/audit.jsonl" | grep -q server-stopped || fail "the end is not the last entry of the curator's audit log"
tail -n 1 "$work/state/audit.jsonl" | grep -q server-stopped || fail "the analyst's end is not in its audit log"
echo "operations passed"
