#!/usr/bin/env bash
# run.sh [--minutes M] [--build DIR]: runs 64 watching clients and 16 runs at once
# over 4 data sets, in waves, for M minutes (default 30). Prints memory, threads
# and descriptors four times a minute; exit code 1 if they grew.
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
minutes=30
build=$(cd "$(dirname "$0")/../.." && pwd)/build
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    *) echo "usage: $0 [--minutes M] [--build DIR]" >&2; exit 2 ;;
  esac
done
DPNMF_LOAD_MINUTES=$minutes exec "$build/tests/two_parties_test" --gtest_brief=1 \
  --gtest_filter='ServerLoad.SixtyFour*'
