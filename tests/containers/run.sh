#!/usr/bin/env bash
# tests/containers/run.sh [--with ENGINE]: the deployment of the README in real
# containers: import, up, train, kill and restart of either, down. ENGINE is a
# program that is given a build command and a run command and runs both with a
# Docker engine; without it the engine of the machine is used.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"

scenario() {
  local work
  work=$(mktemp -d)
  export DPNMF_SECRETS=$work/secrets DPNMF_PORT=17432
  trap 'docker-compose down -v >/dev/null 2>&1 || true; rm -rf '"$work" EXIT
  docker-compose down -v >/dev/null 2>&1 || true

  import() {
    docker run --rm --network=none -v dpnmf-curator-data:/var/lib/dpnmf \
      -v dpnmf-curator-anchor:/var/lib/dpnmf-anchor -v "$top/examples/digits:/in:ro" dpnmf-curator \
      import --name digits --population writers --input /in/digits.csv.gz --users rows \
      --epsilon 8 --delta 1e-5 --data-dir /var/lib/dpnmf --anchor-dir /var/lib/dpnmf-anchor
  }
  client() {
    docker run --rm -i --network dpnmf-clients -v "$DPNMF_SECRETS/alice:/alice:ro" --user 0 \
      --entrypoint /usr/bin/dpnmf dpnmf-analyst --server analyst:7432 \
      --ca /alice/ca.crt --cert /alice/tls.crt --key /alice/tls.key "$@"
  }
  expect() { # DESCRIPTION COMMAND...
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then echo "ok: $what"; else
      echo "FAILED: $what"; cat "$work/out"; docker-compose logs --tail 20; exit 1; fi
  }

  expect "import into a volume" import
  expect "up and healthy" deploy/up.sh
  expect "train" client train --dataset digits --rank 8 --rounds 5 --epsilon 1 --wait
  expect "budget agrees" bash -c "$(declare -f client); client budget --dataset digits --format json | tee /dev/stderr | grep -q '\"agree\": true'"
  expect "the curator killed and restarted" bash -c 'docker kill -s KILL $(docker-compose ps -q curator) && deploy/up.sh'
  expect "train again" client train --dataset digits --rank 8 --rounds 5 --epsilon 1 --wait
  expect "the analyst killed and restarted" bash -c 'docker kill -s KILL $(docker-compose ps -q analyst) && deploy/up.sh'
  expect "both runs are known" bash -c "$(declare -f client); client runs --format json | tee /dev/stderr | grep -c RUN_STATE_COMPLETED | grep -qx 2"
  expect "down" docker-compose down
  echo "container test passed"
}

case "${1:-}" in
  --scenario) scenario ;;
  --with) "$2" "cd '$top' && deploy/images.sh --network=host -q" "'$top/tests/containers/run.sh' --scenario" ;;
  "") deploy/images.sh -q && scenario ;;
  *) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
