#!/usr/bin/env bash
# tests/federation/run.sh [BUILD_DIR]: three curators and an analyst as real
# processes over mutual TLS: one dictionary from the people of all three, the
# budgets of all three, refusals, and kill -9 of a curator at random moments. Last
# line: N passed, N failed. SEED=N repeats a run's moments.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
PATH=$build/bin:$PATH
if [ -w /dev/shm ]; then work=$(mktemp -d -p /dev/shm); else work=$(mktemp -d); fi
seed=${SEED:-$RANDOM}
RANDOM=$seed
passed=0 failed=0
declare -A pid port
analyst_pid= analyst_port=
finish() {
  kill -KILL "${pid[@]}" $analyst_pid 2>/dev/null
  wait 2>/dev/null
  [ $failed = 0 ] && rm -rf "$work" || echo "files: $work (SEED=$seed)"
}
trap finish EXIT
ok() { passed=$((passed + 1)); echo "ok      $1"; }
no() {
  failed=$((failed + 1))
  echo "FAILED  $1"
  tail -n 5 "$work/out" 2>/dev/null
}
check() { # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then ok "$what"; else no "$what"; fi
}
says() { grep -q -- "$1" "$work/out"; }
die() { no "$1"; for log in "$work"/*.log; do echo "--- $log"; tail -n 5 "$log"; done; summary; }
summary() { echo "$passed passed, $failed failed"; [ $failed = 0 ]; exit; }

"$top/deploy/certs.sh" demo "$work/certs" >"$work/out" 2>&1 || die "certificates"
tls() { echo --ca "$work/certs/$1/ca.crt" --cert "$work/certs/$1/tls.crt" --key "$work/certs/$1/tls.key"; }
# Below the ports that the system gives to clients; each is asked for once.
next_port=$((20000 + RANDOM % 12000))
take_port() {
  while (: </dev/tcp/127.0.0.1/$next_port) 2>/dev/null; do next_port=$((next_port + 1)); done
  taken=$next_port
  next_port=$((next_port + 1))
}
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}' >"$work/allow.json"
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >"$work/clients.json"

# 360 people, each with one of two parts, dealt to three curators.
awk 'BEGIN { for (n = 0; n < 360; ++n) { line = "";
  for (d = 0; d < 8; ++d) line = line (d ? "," : "") ((int(d / 4) == n % 2) ? 1 + (n * 7 + d) % 5 : 0);
  print line } }' >"$work/all.csv"
dirs() { echo --data-dir "$work/$1" --anchor-dir "$work/$1.anchor"; }
declare -A entry
for who in a b c; do
  take_port
  port[$who]=$taken
  awk -v part="$(printf %d "'$who")" 'NR % 3 == (part - 97)' "$work/all.csv" >"$work/$who.csv"
  dpnmf-curator import --name "people-$who" --population "group-$who" --input "$work/$who.csv" --users rows \
    --epsilon 8 --delta 1e-6 $(dirs $who) >"$work/out" 2>&1 || die "import at $who"
  entry[$who]=$(dpnmf-curator federation-member --data-dir "$work/$who" --dataset "people-$who" --name "hospital-$who" \
    --address "127.0.0.1:${port[$who]}" 2>"$work/out") || die "entry of $who"
done
# What federation.json would refuse at every curator is refused where it is written.
member() { dpnmf-curator federation-member --data-dir "$work/a" --dataset people-a "$@" >"$work/out" 2>&1; }
refused_name() { ! member --name Hospital_A --address a:1 && says "\`--name\` must be" && says federation-member-malformed; }
refused_address() { ! member --name a --address "$1" && says "\`--address\` must be" && says federation-member-malformed; }
check "an entry whose name no federation.json takes is refused" refused_name
for address in '' 'a' 'a"b:1'; do
  check "an entry with the address '$address' is refused" refused_address "$address"
done
federation() { # NAME COLLUDERS ENTRIES
  echo "{\"federation\": \"$1\", \"colluders\": $2, \"copies\": 1, \"adjacency\": \"replace_one\"," \
    "\"conversion\": \"gaussian\", \"features\": 8, \"normalisation\": \"l2\", \"column_bound\": 1, \"max_rank\": 8," \
    "\"max_rounds\": 1000, \"epsilon_if_others_collude\": 20, \"members\": [$3]}"
}
federation hospitals 1 "${entry[a]}, ${entry[b]}, ${entry[c]}" >"$work/federation.json"

start_curator() { # WHO [ARGUMENT...]
  local who=$1
  shift
  dpnmf-curator serve $(dirs "$who") --allow "$work/allow.json" $(tls curator) --federation "$work/federation.json" \
    --listen "127.0.0.1:${port[$who]}" "$@" >>"$work/$who.log" 2>&1 &
  pid[$who]=$!
  disown
  for _ in $(seq 200); do
    (: </dev/tcp/127.0.0.1/"${port[$who]}") 2>/dev/null && return 0
    kill -0 "${pid[$who]}" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}
start_analyst() {
  dpnmf-analyst serve --state-dir "$work/state" --federation "$work/federation.json" --clients "$work/clients.json" \
    $(tls analyst) --listen "127.0.0.1:$analyst_port" >>"$work/analyst.log" 2>&1 &
  analyst_pid=$!
  disown
  for _ in $(seq 200); do
    (: </dev/tcp/127.0.0.1/"$analyst_port") 2>/dev/null && return 0
    kill -0 $analyst_pid 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}
alice() { dpnmf --server "127.0.0.1:$analyst_port" $(tls alice) "$@" >"$work/out" 2>&1; }
# PID...: until none is there, for half a minute each; then it is a failure of the test.
await_gone() {
  local one
  for one in "$@"; do
    for _ in $(seq 600); do
      kill -0 "$one" 2>/dev/null || continue 2
      sleep 0.05
    done
    no "process $one does not end"
    return 1
  done
}
# The analyst's connections wait a little before they try a curator again.
reachable() { for _ in $(seq 150); do alice budget --federation hospitals && return 0; sleep 0.1; done; return 1; }
agrees() { alice budget --federation hospitals --format json && says '"agree": true'; }
charges() { # WHO POPULATION
  dpnmf-curator ledger show $(dirs "$1") --format json >"$work/ledger" 2>&1
  awk -v people="\"$2\"" '/"kind": "charge"/ { charge = 1 } /"population":/ { if (charge && index($0, people)) ++n; charge = 0 }
    END { print n + 0 }' "$work/ledger"
}
verified() { dpnmf-curator ledger verify $(dirs "$1") --format json >"$work/out" 2>&1 && says '"ok": true'; }
run_id() { grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1; }
value() { alice show "$1" --format json; sed -n "s/.*\"$2\": \"\\{0,1\\}\\([A-Za-z0-9_]*\\).*/\\1/p" "$work/out" | head -n 1; }

for who in a b c; do start_curator $who || die "curator $who"; done
take_port
analyst_port=$taken
start_analyst || die "analyst"
listed() { alice datasets && says hospitals; }
check "the federation is a data set" listed

# --- What it costs, before anything is spent.
plan() { alice plan --federation hospitals --rank 2 --epsilon 1 && says "would be accepted" && says "times that of one curator"; }
check "a plan, with what federating wins" plan

# --- One dictionary, three budgets.
trained() { alice train --federation hospitals --rank 2 --epsilon 1 --wait && says completed; }
check "one dictionary of the people of all three" trained
check "mirror and ledgers agree" agrees
alice runs --format json
released=$(run_id)
refitted() { alice refit "$released" --rank 3 --wait && says completed && [ "$(charges a group-a)" = 1 ]; }
check "another rank from the same sum is free" refitted
budgets() { alice budget --federation hospitals && says hospital-a && says hospital-b && says hospital-c; }
check "the budgets of all three" budgets
for who in a b c; do
  one() { [ "$(charges $who "group-$who")" = 1 ] && [ "$(charges $who "group-$who.others")" = 1 ]; }
  check "one charge in each account of $who" one
done
receipts() {
  alice receipts export --output "$work/receipts.jsonl" && [ "$(wc -l <"$work/receipts.jsonl")" = 3 ]
}
check "the receipts of all three are kept" receipts
statistics() { alice train --federation hospitals --rank 2 --rounds 3 --mechanism statistics --epsilon 1 --wait && says completed; }
check "rounds of A and B" statistics
rows() { alice train --federation hospitals --rank 2 --moment-rows 4 --epsilon 0.5 --spend-again --wait && says completed; }
check "a mean, then the moments of some rows" rows
alice train --dataset people-a --rank 2 --epsilon 1
check "a member's own data set is not offered here" says dataset-unknown
alice train --federation hospitals --rank 2 --rounds 3 --mechanism gradient --epsilon 1
check "what is no plain sum is refused" says federation-mechanism

# --- A curator that is away: nothing is spent, and the run goes on later.
kill -TERM "${pid[c]}"
await_gone "${pid[c]}"
before=$(charges a group-a)
alice train --federation hospitals --rank 2 --epsilon 0.5
check "with one curator away no run starts" says unreachable
none() { [ "$(charges a group-a)" = "$before" ]; }
check "and nothing is charged" none
start_curator c || die "curator c comes back"

# --- kill -9 of one curator at random moments of long runs: each round is the
# same bits or lost, and is charged once at each of the three.
hits=0
for who in a b c; do
  reachable || no "the curators are back"
  at=$(charges $who "group-$who")
  alice train --spend-again --federation hospitals --rank 2 --rounds 250 --mechanism statistics --epsilon 0.5 --seed "$RANDOM" ||
    { no "start of the long run"; continue; }
  id=$(run_id)
  for kill in 1 2 3 4; do
    sleep 0.$((RANDOM % 50 + 10))
    kill -KILL "${pid[$who]}" 2>/dev/null
    await_gone "${pid[$who]}"
    [ "$(value "$id" rounds_done)" = 250 ] || hits=$((hits + 1))
    start_curator $who || no "curator $who comes back"
  done
  if [ $who = b ]; then
    kill -KILL $analyst_pid
    await_gone $analyst_pid
    start_analyst || no "the analyst comes back"
  fi
  reachable || no "the curators are back"
  alice watch "$id"
  check "the run outlives four kills of $who" test "$(value "$id" rounds_done)" = 250
  same() { for one in a b c; do [ "$(charges $one "group-$one")" = "$(charges $one "group-$one.others")" ] || return 1; done; }
  check "both accounts of each have the same rounds" same
  once() { [ $(($(charges $who "group-$who") - at)) = 250 ]; }
  check "each round is charged once at $who" once
  check "mirror and ledgers agree after the kills of $who" agrees
done
echo "$hits of 12 kills met a run in its middle; $(cat "$work"/?.log | grep -c "is lost") answers were of lost rounds"
check "a kill met a run in its middle" test $hits -gt 0
for who in a b c; do check "ledger of $who" verified $who; done

# --- Somebody has another federation.json.
kill -TERM "${pid[a]}"
await_gone "${pid[a]}"
cp "$work/federation.json" "$work/right.json"
refused() { # WHAT CODE: federation.json as it stands
  timeout 20 dpnmf-curator serve $(dirs a) --allow "$work/allow.json" $(tls curator) --federation "$work/federation.json" \
    --listen "127.0.0.1:${port[a]}" >"$work/out" 2>&1
  check "$1 is refused" says "$2"
}
sed 's/"users": 120/"users": 121/' "$work/right.json" >"$work/federation.json"
refused "another number of people" federation-differs
sed 's/"features": 8/"features": 9/' "$work/right.json" >"$work/federation.json"
refused "another number of features" federation-differs
sed 's/"colluders": 1/"colluders": 0/' "$work/right.json" >"$work/federation.json"
refused "a federation that trusts all" federation-malformed
sed 's/"federation": "hospitals"/"federation": "people-a"/' "$work/right.json" >"$work/federation.json"
refused "the name of a data set" federation-name-taken
sed 's/collude": 20/collude": 30/' "$work/right.json" >"$work/federation.json"
refused "another cap of the second account" population-differs
federation hospitals 1 "${entry[b]}, ${entry[c]}" >"$work/federation.json"
refused "a federation without this curator" federation-not-a-member
sed 's/"max_rounds": 1000/"max_rounds": 999/' "$work/right.json" >"$work/federation.json"
start_curator a || die "curator a"
before=$(charges b group-b)
reachable || no "curator a is back"
alice train --federation hospitals --rank 2 --epsilon 0.25 --spend-again --wait
check "curators with different files release nothing" says federation-offer-differs
none() { [ "$(charges b group-b)" = "$before" ]; }
check "and charge nothing" none

# --- Two curators: nothing is won, and the plan says so.
kill -TERM $analyst_pid "${pid[@]}" 2>/dev/null
await_gone $analyst_pid "${pid[@]}"
federation pair 1 "${entry[a]}, ${entry[b]}" >"$work/federation.json"
rm -rf "$work/state"
if start_curator a && start_curator b && start_analyst; then
  pair() { alice plan --federation pair --rank 2 --epsilon 0.25 && says "gains nothing"; }
  check "with two curators the plan says that nothing is won" pair
else
  no "two curators"
fi
summary
