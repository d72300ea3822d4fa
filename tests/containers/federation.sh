#!/usr/bin/env bash
# tests/containers/federation.sh: three curators and an analyst of one federation in
# containers of the images dpnmf-curator and dpnmf-analyst, which must be there
# (tests/containers/run.sh --build). One curator is killed in the middle of a run,
# several times: every round is released or lost, both accounts of all three are
# charged once for it, and the next run is as if nothing had been. With an engine
# that is only there for a command, as run.sh takes it:
#
#   ENGINE "DOCKER_BUILDKIT=0 tests/containers/run.sh --build-host" tests/containers/federation.sh
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
work=$(mktemp -d)
export DPNMF_SECRETS=$work/secrets
long=1000 kills=4 # the most that a run may have
compose() { deploy/compose.sh -p dpnmf-federation -f tests/containers/federation.yml "$@"; }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
  echo "FAILED: $*"
  tail -n 30 "$work/out" 2>/dev/null || true
  compose logs --tail 25 2>/dev/null || true
  exit 1
}
expect() { # WHAT COMMAND...: its output is in $work/out
  local what=$1
  shift
  "$@" >"$work/out" 2>&1 || fail "$what"
  say "ok: $what"
}
# COMMAND...: repeats it until it succeeds, for five minutes.
await() {
  local end=$((SECONDS + 300))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 1
  done
}
clean() {
  compose down -v >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
compose down -v >/dev/null 2>&1 || true

client() { deploy/client.sh "$@"; }
container() { compose ps -q "$1"; }
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$(container "$1")")" = healthy ]; }
value() { client show "$1" --format json | sed -n "s/.*\"$2\": \"\\{0,1\\}\\([A-Za-z0-9_]*\\).*/\\1/p" | head -n 1; }
past() { [ "$(value "$1" rounds_done)" -gt "$2" ]; }
reachable() { client budget --federation hospitals; }
agrees() { client budget --federation hospitals --format json >"$work/json" && grep -q '"agree": true' "$work/json"; }
ledger() { # WHO ARGUMENT...
  local who=$1
  shift
  docker exec "$(container "curator-$who")" dpnmf-curator ledger "$@" --data-dir /var/lib/dpnmf --anchor-dir /var/lib/dpnmf-anchor
}
charges() { # WHO ACCOUNT
  ledger "$1" show --last 100000 --format json >"$work/ledger.json"
  awk -v account="\"$2\"" '/"kind": "charge"/ { charge = 1 }
    /"population":/ { if (charge && index($0, account)) ++n; charge = 0 } END { print n + 0 }' "$work/ledger.json"
}
# Both accounts of all three have so many charges.
charged() { # NUMBER
  local who account
  for who in a b c; do
    for account in "writers-$who" "writers-$who.others"; do
      [ "$(charges $who "$account")" = "$1" ] || { echo "$account: $(charges $who "$account") charges, not $1"; return 1; }
    done
  done
}

# Certificates, people and one federation.json.
deploy/certs.sh demo "$DPNMF_SECRETS" >"$work/out" 2>&1 || fail "certificates"
members=
mkdir -p "$DPNMF_SECRETS/curator-config" "$DPNMF_SECRETS/analyst-config"
for who in a b c; do
  deploy/certs.sh issue "$DPNMF_SECRETS" "curator-$who" --dns "curator-$who" --dns localhost --ip 127.0.0.1 \
    >"$work/out" 2>&1 || fail "certificate of $who"
  chown -R 10001:10001 "$DPNMF_SECRETS/curator-$who"
  mkdir -p "$work/in"
  zcat examples/digits/digits.csv.gz | awk -v part=$(($(printf %d "'$who") - 97)) 'NR % 3 == part' >"$work/in/$who.csv"
  volumes=(-v "dpnmf-federation-data-$who:/var/lib/dpnmf" -v "dpnmf-federation-anchor-$who:/var/lib/dpnmf-anchor")
  chmod -R a+rX "$work/in"
  expect "hospital $who imports its people" docker run --rm --network=none -v "$work/in:/in:ro" "${volumes[@]}" dpnmf-curator \
    import --name "digits-$who" --population "writers-$who" --input "/in/$who.csv" --users rows --epsilon 8 --delta 1e-5
  entry=$(docker run --rm --network=none "${volumes[@]}" dpnmf-curator federation-member --data-dir /var/lib/dpnmf \
    --dataset "digits-$who" --name "hospital-$who" --address "curator-$who:7431") || fail "entry of $who"
  members="$members${members:+, }$entry"
done
cat >"$DPNMF_SECRETS/curator-config/federation.json" <<JSON
{"federation": "hospitals", "colluders": 1, "copies": 1, "adjacency": "replace_one", "conversion": "gaussian",
 "features": 64, "normalisation": "l2", "column_bound": 1, "max_rank": 64, "max_rounds": 1000,
 "epsilon_if_others_collude": 20, "members": [$members]}
JSON
cp "$DPNMF_SECRETS/curator-config/federation.json" "$DPNMF_SECRETS/analyst-config/"
echo '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["hospitals"]}]}' \
  >"$DPNMF_SECRETS/curator-config/allow.json"
echo '{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}' >"$DPNMF_SECRETS/analyst-config/clients.json"
chmod 755 "$DPNMF_SECRETS"
chown -R 10001:10001 "$DPNMF_SECRETS/curator-config"
chown -R 10002:10002 "$DPNMF_SECRETS/analyst" "$DPNMF_SECRETS/analyst-config"
chmod 700 "$DPNMF_SECRETS"/{curator,analyst}-config

expect "three curators and an analyst start" compose up -d
for service in curator-a curator-b curator-c analyst; do expect "$service is healthy" await healthy $service; done
expect "the analyst reaches all three" await reachable

# A run of many rounds; one curator after the other is killed in its midst.
client train --federation hospitals --rank 4 --rounds $long --mechanism statistics --epsilon 0.8 >"$work/out" 2>&1 ||
  fail "start of a long run"
run=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
for ((kill = 1; kill <= kills; ++kill)); do
  who=$(printf '%s' abc | cut -c $((kill % 3 + 1)))
  at=$(value "$run" rounds_done)
  # On a busy machine a client takes longer to start than many rounds.
  [ "$kill" = 1 ] || [ "$at" -lt $long ] || break
  await past "$run" "$at" || fail "the run does not go on past round $at"
  docker kill -s KILL "$(container "curator-$who")" >/dev/null
  # Without this curator no round can be released: what is done now stays.
  at=$(value "$run" rounds_done)
  [ "$at" -lt $long ] || fail "kill $kill came after the run's end"
  say "curator $who killed after round $at"
  expect "the others live" healthy "curator-$(printf '%s' abca | cut -c $((kill % 3 + 2)))"
  expect "curator $who starts again" compose up -d
  expect "it is healthy" await healthy "curator-$who"
done
expect "the run ends" client watch "$run"
[ "$(value "$run" rounds_done)" = $long ] || fail "the run has $(value "$run" rounds_done) rounds, not $long"
expect "each round is charged once, in both accounts of all three" charged $long
expect "mirror and ledgers agree" agrees
for who in a b c; do expect "the ledger of $who is whole" ledger $who verify; done
say "$(compose logs 2>&1 | grep -c "is lost" || true) answers were of lost rounds"

# A curator that is away: no run starts, and nothing is charged.
docker kill -s KILL "$(container curator-b)" >/dev/null
client train --federation hospitals --rank 4 --epsilon 0.5 --wait >"$work/out" 2>&1 && fail "a run without curator b"
grep -q unreachable "$work/out" || fail "a run without curator b is refused otherwise"
expect "curator b starts again" compose up -d
expect "it is healthy" await healthy curator-b
expect "nothing was charged for it" charged $long
expect "the analyst reaches all three again" await reachable
expect "the run can be done again" client train --federation hospitals --rank 4 --epsilon 0.5 --spend-again --wait
expect "it is charged once" charged $((long + 1))
expect "mirror and ledgers agree at the end" agrees
say "federation in containers passed"
