#!/usr/bin/env bash
# deploy/build.sh [BUILD_DIR [CMAKE_ARGUMENT...]]: configures and builds the
# programs (and the tests, if requested) into BUILD_DIR/bin [build].
#
#   DPNMF_TARGET   what to build, separated by spaces [all]
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build}
read -ra targets <<<"${DPNMF_TARGET:-all}"
shift || true
mkdir -p "$build"
log=$build/build.log

# progress: follows the log of the build on standard error. On a terminal, one line that is
# written over; elsewhere a line every half minute.
progress() {
  local start=$SECONDS shown=$SECONDS status finished total ahead left
  while sleep 1; do
    [ -t 2 ] || [ $((SECONDS - shown)) -ge 30 ] || continue
    shown=$SECONDS
    status=$(grep -oE '^\[[1-9][0-9]*/[0-9]+\] (Building|Linking)' "$log" | tail -1) || continue
    IFS=/ read -r finished total <<<"${status//[^0-9\/]/}"
    ahead=$(((SECONDS - start) * (total - finished) / finished))
    if [ $ahead -ge 90 ]; then left="about $(((ahead + 30) / 60)) min left"; else left="about a minute left"; fi
    if [ -t 2 ]; then
      printf '\r\033[Kcompiling %s of %s, %s' "$finished" "$total" "$left" >&2
    else
      printf 'compiling %s of %s, %s\n' "$finished" "$total" "$left" >&2
    fi
  done
}
: >"$log"
progress &
watcher=$!
trap 'kill "$watcher" 2>/dev/null; [ ! -t 2 ] || printf "\r\033[K" >&2' EXIT
build() {
  cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" &&
    NINJA_STATUS='[%f/%t] ' cmake --build "$build" --target "${targets[@]}" -- -k 0
}
if ! build "$@" >"$log" 2>&1; then
  grep -E 'error|Error|FAILED' "$log" | head -30 >&2 || true
  tail -5 "$log" >&2
  echo "the build failed; full log: $log" >&2
  exit 1
fi
