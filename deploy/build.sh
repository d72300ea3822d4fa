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
if ! { cmake -S "$top" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" &&
  cmake --build "$build" --target "${targets[@]}" -- -k 0; } >"$log" 2>&1; then
  grep -E 'error|Error|FAILED' "$log" | head -30 >&2 || true
  tail -5 "$log" >&2
  echo "the build failed; full log: $log" >&2
  exit 1
fi
