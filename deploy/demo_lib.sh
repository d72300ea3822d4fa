# What the demonstrations share. Sourced with $top, the project, and $demo, the
# directory of their files.
say() { printf '\n== %s\n' "$*"; }
# KIND...: puts the programs of DPNMF_BIN in PATH, or installs the packages of `build`
# and of these kinds (deploy/install.sh) and builds them first; makes $demo again.
prepare() {
  local build=${DPNMF_BUILD_DIR:-$top/build} kind
  if [ -z "${DPNMF_BIN:-}" ]; then
    say "packages and programs"
    for kind in build "$@"; do "$top/deploy/install.sh" "$kind"; done
    DPNMF_TARGET="dpnmf-curator dpnmf-analyst dpnmf" "$top/deploy/build.sh" "$build" -DDPNMF_BUILD_TESTS=OFF
    DPNMF_BIN=$build/bin
  fi
  PATH=$DPNMF_BIN:$PATH
  case "$demo" in / | "$HOME" | "$top") echo "DPNMF_DEMO_DIR must be a directory of its own" >&2; exit 2 ;; esac
  rm -rf "$demo"
  mkdir -p "$demo"
}
# NAME: the flags of its certificate, made by deploy/certs.sh in $demo/certs; for a
# script that is in $demo.
tls() { echo --ca "certs/$1/ca.crt" --cert "certs/$1/tls.crt" --key "certs/$1/tls.key"; }
# PORT: that one, or the next that nobody listens on.
free_port() {
  local port=$1
  while (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}
# `trap stop EXIT` ends the servers, whose process numbers are in $servers.
servers=()
# Waits until the analyst answers `client`, a function; prints the data sets.
await_servers() {
  for _ in $(seq 100); do
    client datasets >/dev/null 2>&1 && break
    kill -0 "${servers[@]}" 2>/dev/null || exit 1
    sleep 0.1
  done
  client datasets
}
stop() {
  local status=$?
  [ ${#servers[@]} -eq 0 ] || kill -TERM "${servers[@]}" 2>/dev/null || true
  wait
  [ $status -eq 0 ] || echo "the demo failed; the servers' logs: $demo/*.log" >&2
  exit $status
}
