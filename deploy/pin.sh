#!/usr/bin/env bash
# deploy/pin.sh [DOCKER_RUN_ARGUMENT...]: pins the packages of both images. Inside
# debian:bookworm-slim it asks the mirror which versions it would install now, and
# writes them, with all their dependencies, to deploy/build.lock and
# deploy/runtime.lock. Needs Docker and a network. Review the difference before you
# commit it.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
pin() { # LOCK PACKAGE...
  local lock=$1
  shift
  docker run --rm "${run[@]}" debian:bookworm-slim sh -c \
    "apt-get update -qq && apt-get install -s -qq --no-install-recommends $*" |
    sed -n 's/^Inst \([^ ]*\) .*(\([^ ]*\) .*/\1=\2/p' | LC_ALL=C sort >"$lock.new"
  [ -s "$lock.new" ] || { rm -f "$lock.new"; echo "the mirror named no packages" >&2; exit 1; }
  { echo "# Made by deploy/pin.sh."; cat "$lock.new"; } >"$lock"
  rm -f "$lock.new"
  echo "$lock: $(grep -vc '^#' "$lock") packages"
}
run=("$@")
mapfile -t build < <(deploy/install.sh list)
mapfile -t runtime < <(sh deploy/runtime_packages.sh)
pin deploy/build.lock "${build[@]}"
pin deploy/runtime.lock "${runtime[@]}"
