#!/usr/bin/env bash
# tests/run.sh [CTEST_ARGUMENT...]: installs what is missing, builds, runs every
# test. Slow statistical tests are left out; run them with `tests/run.sh -L slow`.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=${DPNMF_BUILD_DIR:-$top/build}
"$top/deploy/install.sh" test
"$top/deploy/build.sh" "$build" -DDPNMF_BUILD_TESTS=ON
[ $# -gt 0 ] || set -- -LE slow
ctest --test-dir "$build" --output-on-failure -j2 "$@"
