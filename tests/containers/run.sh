#!/usr/bin/env bash
# tests/containers/run.sh [--with ENGINE]: tests the README's deployment section in
# real containers, and the incidents of an operator: kill and restart of either
# side, a network partition, an upgrade during a run, a rolled-back volume, renewed
# and revoked certificates; then, with the same images, three curators of one
# federation (federation.sh). ENGINE is a program that gets a build command and a run
# command and runs both with a Docker engine; the default is the machine's engine.
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"

# Prints the N-th code block of the README's deployment section.
readme_block() {
  awk -v wanted="$1" '/^## /{in_section = ($0 == "## Deployment")}
    in_section && /^```/{if (open) open = 0; else {open = 1; ++block}; next}
    in_section && open && block == wanted' README.md
}

build() {
  bash -euo pipefail -c "$(readme_block 1)" && return
  echo "NOT PINNED: the packages' pinned versions are not to be had; building with others"
  DPNMF_UNPINNED=1 deploy/images.sh
}

work= number=0
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() {
  echo "FAILED: $*"
  tail -n 30 "$work/out" 2>/dev/null || true
  deploy/compose.sh logs --tail 25 2>/dev/null || true
  exit 1
}
# DESCRIPTION COMMAND...: the command must succeed; its output is in $work/out.
expect() {
  local what=$1
  shift
  "$@" >"$work/out" 2>&1 || fail "$what"
  say "ok: $what"
}
# EXIT_CODE PATTERN DESCRIPTION COMMAND...
refused() {
  local code=$1 pattern=$2 what=$3 got=0
  shift 3
  "$@" >"$work/out" 2>&1 || got=$?
  [ "$got" = "$code" ] || fail "$what: exit code $got, not $code"
  grep -q -- "$pattern" "$work/out" || fail "$what: no '$pattern'"
  say "ok: $what"
}
client() { deploy/client.sh "$@"; }
container() { deploy/compose.sh ps -q "$1"; }
rounds_of() { client show "$1" --format json | sed -n 's/.*"rounds_done": \([0-9]*\).*/\1/p'; }
state_of() { client show "$1" --format json | sed -n 's/.*"state": "RUN_STATE_\([A-Z]*\)".*/\1/p'; }
# COMMAND...: repeats it until it succeeds, for a minute and a half.
await() {
  local end=$((SECONDS + 90))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 1
  done
}
past() { [ "$(rounds_of "$1")" -gt "$2" ]; }
is() { [ "$(state_of "$1")" = "$2" ]; }
ledger() { docker exec "$(container curator)" dpnmf-curator ledger "$@" --data-dir /var/lib/dpnmf --anchor-dir /var/lib/dpnmf-anchor; }
charges() { ledger show --last 100000 --format json | grep -c '"kind": "charge"'; }
agrees() { client budget --dataset digits --format json | grep '"agree": true' >/dev/null; }
log_has() { deploy/compose.sh logs "$1" 2>&1 | grep -- "$2" >/dev/null; }

# Starts a run of $long rounds that costs a share of the budget; sets $run.
long=1000 # the most that a run may have
start_long() {
  client train --spend-again --dataset digits --rank 4 --rounds $long --epsilon 0.8 >"$work/out" 2>&1 || fail "start a long run"
  run=$(grep -oE '[0-9a-f]{32}' "$work/out" | head -n 1)
  number=$((number + 1))
  await past "$run" 2 || fail "the long run does not begin"
}
# The run must complete, and each of its rounds must be charged once.
ends_well() { # WHAT CHARGES_BEFORE
  client watch "$run" >"$work/out" 2>&1 || fail "$1: the run does not end well"
  local more=$(($(charges) - $2))
  [ "$more" = $long ] || fail "$1: $more charges for $long rounds"
  agrees || fail "$1: the ledgers disagree"
  say "ok: $1: $long rounds, $more charges, both ledgers agree"
}
# Called while the disturbance still delays the run: afterwards the run may end at
# any time.
in_midst() { # WHAT CHARGES_BEFORE
  [ $(($(charges) - $2)) -lt $long ] || fail "$1 came after the run's end"
}

copy_volume() { # FROM TO: the whole content
  docker run --rm --network=none --user 0 --entrypoint /bin/bash -v "$1:/from:ro" -v "$2:/to" dpnmf-curator \
    -c 'find /to -mindepth 1 -delete && cp -a /from/. /to/'
}

hardened() {
  local id
  for service in curator analyst; do
    id=$(container $service)
    [ "$(docker inspect -f '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.Config.User}}' "$id")" = "true [ALL] $1" ] ||
      { docker inspect -f '{{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.Config.User}}' "$id"; return 1; }
    ! docker exec "$id" sh -c ': > /usr/bin/x' || return 1
    docker exec "$id" sh -c 'test "$(cat /proc/1/status | sed -n "s/^NoNewPrivs:\t//p")" = 1' || return 1
    shift
  done
}
no_build_in() { # IMAGE...
  local image
  for image in "$@"; do
    docker run --rm --network=none --entrypoint /bin/sh "$image" -c \
      '! test -e /src && ! command -v g++ && ! command -v ccache' || return 1
  done
}
# The curator's metrics must be reachable on the operator's network only.
page() { # NETWORK HOST PORT
  docker run --rm --network "$1" --entrypoint /bin/bash dpnmf-curator -c \
    'exec 3<>/dev/tcp/'"$2/$3"' && printf "GET /metrics HTTP/1.0\r\n\r\n" >&3 && cat <&3'
}
# grep reads all: to the writer of a pipe that is closed early, pipefail is a failure.
page_shows() { page "$1" "$2" "$3" | grep "$4" >/dev/null; }
stranger() { # COMMAND of the client's program, as a client of our CA that is on no list
  DPNMF_CLIENT=mallory deploy/client.sh "$@"
}
health_as() { # NAME: the analyst's health service, asked by that name
  docker run --rm --network dpnmf-clients --user 0 -v "$DPNMF_SECRETS/$1:/run/secrets:ro" dpnmf-analyst \
    --health --listen analyst:7432
}

# The certificate that the curator shows is the one in its secrets.
serves_given() {
  local address served
  address=$(docker inspect -f '{{(index .NetworkSettings.Networks "dpnmf-between").IPAddress}}' "$(container curator)")
  # Without a certificate of our own the handshake fails, after the curator has shown its own.
  served=$(timeout 20 openssl s_client -connect "$address:7431" </dev/null 2>/dev/null | openssl x509 -noout -serial) || true
  [ -n "$served" ] && [ "$served" = "$(openssl x509 -noout -serial -in "$DPNMF_SECRETS/curator/tls.crt")" ]
}

scenario() {
  work=$(mktemp -d)
  export DPNMF_SECRETS=$work/secrets DPNMF_PORT=17432 DPNMF_CRL=on
  clean() {
    deploy/compose.sh down -v >/dev/null 2>&1 || true
    docker volume rm -f dpnmf-test-old dpnmf-test-new >/dev/null 2>&1 || true
  }
  trap 'clean; rm -rf "$work"' EXIT
  clean

  expect "the README's deployment section: import, up, train, budget" bash -euo pipefail -c "$(readme_block 2)"
  expect "the ledgers agree" agrees
  expect "not root, read-only root, no capabilities, no new privileges" hardened 10001:10001 10002:10002
  expect "the analyst's image has nothing of the curator" \
    docker run --rm --entrypoint /bin/sh dpnmf-analyst -c '! test -e /usr/bin/dpnmf-curator && ! grep -q dpnmf7curator /usr/bin/dpnmf-analyst'
  expect "no image has the sources, the compiler or its cache" no_build_in dpnmf-curator dpnmf-analyst
  for image in dpnmf-curator dpnmf-analyst; do
    expect "the licence in $image" docker run --rm --network=none --entrypoint=cmp "$image" \
      /usr/share/doc/dpnmf/Apache-2.0 /usr/share/common-licenses/Apache-2.0
    if [ -e build/.ninja_deps ] && /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
      deploy/image_sbom.sh "$image" build >"$work/sbom.json" || fail "the SBOM of $image"
      expect "the SBOM of $image" /usr/bin/python3 tests/packages/sbom_check.py "$work/sbom.json"
    else
      say "NOT RUN: the SBOM of $image needs the build in build/ and python3-jsonschema"
    fi
  done
  expect "dpnmf-lab in the curator's image" \
    docker run --rm --network=none --entrypoint /usr/bin/dpnmf-lab dpnmf-curator --version
  expect "the curator's metrics on its operator's network" page_shows dpnmf-curator-operator curator-metrics 9431 'reading="spent"'
  refused 1 . "no metrics on the network between" page dpnmf-between curator 9431

  deploy/certs.sh issue "$DPNMF_SECRETS" mallory --dns mallory.client >/dev/null
  refused 6 identity-unknown "a client that is on no list" stranger runs
  expect "health for those on the list" health_as alice
  refused 6 "allow-list" "no health for a stranger" health_as mallory

  local before started
  before=$(charges)
  start_long
  docker kill -s KILL "$(container curator)" >/dev/null
  [ "$(rounds_of "$run")" -lt $long ] || fail "the kill came after the run's end"
  expect "up after the curator was killed" deploy/up.sh
  ends_well "the curator killed in mid-run" "$before"

  before=$(charges)
  start_long
  docker kill -s KILL "$(container analyst)" >/dev/null
  in_midst "the kill" "$before"
  expect "up after the analyst was killed" deploy/up.sh
  ends_well "the analyst killed in mid-run" "$before"

  before=$(charges)
  start_long
  docker network disconnect dpnmf-between "$(container analyst)"
  expect "a network that parts makes the run wait" await is "$run" WAITING
  in_midst "the partition" "$before"
  docker network connect --alias analyst dpnmf-between "$(container analyst)"
  ends_well "the network parted in mid-run" "$before"

  before=$(charges)
  for image in dpnmf-curator dpnmf-analyst; do
    printf 'FROM %s\nLABEL upgraded=%s\n' $image "$(date +%s)" | docker build -q -t $image - >/dev/null
  done
  start_long
  deploy/compose.sh stop analyst >/dev/null 2>&1
  in_midst "the upgrade" "$before"
  expect "down and up with newer images, a run in progress" bash -c 'deploy/compose.sh down && deploy/up.sh'
  [ "$(docker inspect -f '{{index .Config.Labels "upgraded"}}' "$(container curator)")" != "" ] || fail "the old image runs"
  ends_well "an upgrade in mid-run" "$before"

  # Certificates.
  started=$(docker inspect -f '{{.State.StartedAt}}' "$(container curator)")
  expect "the curator serves its certificate" await serves_given
  expect "renew the curator's certificate" deploy/certs.sh issue "$DPNMF_SECRETS" curator --dns curator --dns localhost --ip 127.0.0.1
  expect "the curator serves the renewed certificate" await serves_given
  expect "trained with the renewed certificate" client train --dataset digits --rank 4 --epsilon 0.1 --spend-again --wait
  [ "$(docker inspect -f '{{.State.StartedAt}}' "$(container curator)")" = "$started" ] || fail "the curator was restarted"
  expect "revoke the client" deploy/certs.sh revoke "$DPNMF_SECRETS" "$DPNMF_SECRETS/alice/tls.crt"
  refused 5 unreachable "a revoked client is refused" client runs
  expect "the analyst's log says why" log_has analyst certificate-revoked
  expect "give the client another certificate" deploy/certs.sh issue "$DPNMF_SECRETS" alice --dns alice.client
  expect "it is let in" client runs

  # Rollback of the curator's volume: its anchor is on another volume.
  deploy/compose.sh stop curator >/dev/null 2>&1
  expect "an old copy of the curator's volume" copy_volume dpnmf-curator-data dpnmf-test-old
  expect "up again" deploy/up.sh
  expect "a run after the copy" client train --dataset digits --rank 4 --epsilon 0.1 --spend-again --wait
  deploy/compose.sh stop curator >/dev/null 2>&1
  expect "a copy of what is true" copy_volume dpnmf-curator-data dpnmf-test-new
  expect "the old copy put back" copy_volume dpnmf-test-old dpnmf-curator-data
  deploy/compose.sh up -d >/dev/null 2>&1
  expect "a rolled-back volume is not served" await log_has curator ledger-behind-anchor
  deploy/compose.sh stop curator >/dev/null 2>&1
  expect "the true volume put back" copy_volume dpnmf-test-new dpnmf-curator-data
  expect "up with it" deploy/up.sh
  expect "the ledgers agree again" agrees
  expect "the ledger is whole" ledger verify

  # One request has the same name on both sides.
  docker exec "$(container curator)" cat /var/lib/dpnmf/audit.jsonl >"$work/curator.jsonl"
  docker exec "$(container analyst)" cat /var/lib/dpnmf/audit.jsonl >"$work/analyst.jsonl"
  local request
  request=$(sed -n '/round-received/s/.*"request":"\([^"]*\)".*/\1/p' "$work/analyst.jsonl" | tail -n 1)
  expect "the audit logs name a round's request alike" grep -q "round-released.*$request" "$work/curator.jsonl"
  # Each run's release; the rounds of $number long runs.
  [ "$(grep -c '"event":"round-received"' "$work/analyst.jsonl")" -ge $((number * long)) ] || fail "rounds are missing from the audit log"

  expect "down" deploy/compose.sh down
  say "container test passed"
}

case "${1:-}" in
  --build) build ;;
  --scenario) scenario ;;
  --scenarios) "$top/tests/containers/run.sh" --scenario && "$top/tests/containers/federation.sh" ;;
  --with) "$2" "DOCKER_BUILDKIT=0 '$top/tests/containers/run.sh' --build-host" "'$top/tests/containers/run.sh' --scenarios" ;;
  --build-host) # inside ENGINE: its containers have no network of their own
    docker() { if [ "$1" = build ]; then shift; command docker build --network=host -q "$@"; else command docker "$@"; fi; }
    export -f docker
    build ;;
  "") build && "$top/tests/containers/run.sh" --scenarios ;;
  *) sed -n '2,8p' "$0" >&2; exit 2 ;;
esac
