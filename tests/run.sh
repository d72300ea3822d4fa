#!/usr/bin/env bash
# tests/run.sh [CTEST_ARGUMENT...]: installs missing packages, builds, runs the
# tests of ctest except slow statistical ones; run these with `tests/run.sh -L slow`.
# Browser, federation, Python, ranks, packages and containers have a run.sh each,
# which .ci/run starts.
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
build=${DPNMF_BUILD_DIR:-$top/build}
"$top/deploy/install.sh" test
"$top/deploy/build.sh" "$build" -DDPNMF_BUILD_TESTS=ON
[ $# -gt 0 ] || set -- -LE slow
# Some tests wait for servers: one more than there are processors.
ctest --test-dir "$build" --output-on-failure -j$(($(nproc) + 1)) "$@"
