# What tests with both servers share: both servers on loopback over mutual
# TLS, with a data set's file and certificates in $work. Sourced with the
# arguments SOURCE BIN. A script may define curator_flags and analyst_flags again,
# which print the flags of `serve` besides --listen, and write other lists of who
# may do what.
source=$1
PATH=$2:$PATH
# In memory if there is a gigabyte: each of a thousand charges is synced several times.
if [ -w /dev/shm ] && [ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 1000000 ]; then
  work=$(mktemp -d -p /dev/shm)
else
  work=$(mktemp -d)
fi
data=$work/data
curator_pid= analyst_pid= curator_port=0 analyst_port=0
# $state: the analyst's directory below $work.
state=state
curator_dirs=(--data-dir "$data" --anchor-dir "$work/anchor")
curator_flags() { echo "${curator_dirs[@]}" --allow "$work/allow.json" $(tls curator); }
analyst_flags() {
  echo --state-dir "$work/$state" --curator "127.0.0.1:$curator_port" --clients "$work/clients.json" $(tls analyst)
}
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' >"$work/allow.json"
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >"$work/clients.json"
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
certs() { "$source/deploy/certs.sh" "$@" >"$work/out" 2>&1 || fail "certs.sh $*"; }
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
start_curator() { # ARGUMENT...
  : >"$work/curator.log"
  dpnmf-curator serve $(curator_flags) "$@" --listen "127.0.0.1:$curator_port" >>"$work/curator.log" 2>&1 &
  curator_pid=$!
  await_port "sets on" "$work/curator.log" $curator_pid || return 1
  curator_port=$(port_in "sets on" "$work/curator.log")
}
start_analyst() { # ARGUMENT...
  : >"$work/analyst.log"
  dpnmf-analyst serve $(analyst_flags) "$@" --listen "127.0.0.1:$analyst_port" >>"$work/analyst.log" 2>&1 &
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
  local code=$1 what=$2 got=0
  shift 2
  "$@" >"$work/printed" 2>&1 || got=$?
  [ -s "$work/printed" ] && cp "$work/printed" "$work/out"
  [ $got = "$code" ] || fail "$what: exit $got, not $code"
}
says() { grep -q -- "$1" "$work/out" || fail "expected '$1'"; }
rounds() { as alice show "$1" --format json; sed -n 's/.*"rounds_done": \([0-9]*\).*/\1/p' "$work/out"; }
agrees() { exits 0 "budget" as alice budget --dataset people --format json; says '"agree": true'; }

await_rounds() { # RUN ROUNDS
  for _ in $(seq 400); do
    [ "$(rounds "$1")" -ge "$2" ] && return 0
    sleep 0.05
  done
  fail "the run does not go on past round $(rounds "$1")"
}
# kill -9 of the curator after AFTER rounds, then of the analyst after five more;
# both are started again.
kill_both_in_mid_run() { # RUN AFTER ROUNDS_OF_THE_RUN
  local stopped_at
  await_rounds "$1" "$2"
  kill -KILL $curator_pid
  wait $curator_pid 2>/dev/null
  stopped_at=$(rounds "$1")
  [ "$stopped_at" -lt "$3" ] || fail "the run was over before the kill"
  start_curator || fail "the curator does not come back"
  await_rounds "$1" $((stopped_at + 5))
  kill -KILL $analyst_pid
  wait $analyst_pid 2>/dev/null
  start_analyst || fail "the analyst does not come back"
}

# 300 users, each with one of two parts; nothing of the machine's is needed.
awk 'BEGIN { for (n = 0; n < 300; ++n) { line = "";
  for (d = 0; d < 8; ++d) line = line (d ? "," : "") ((int(d / 4) == n % 2) ? 1 + (n * 7 + d) % 5 : 0);
  print line } }' >"$work/people.csv"
certs demo "$work/certs"
certs issue "$work/certs" mallory --dns mallory.client
