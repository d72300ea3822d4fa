#!/usr/bin/env bash
# run.sh [--trials N] [--seed S] [--build DIR]: runs N trials (default 500) of the
# promises of the curator and the analyst on disks that fail and lose power. A
# violation prints the seed that repeats its trial; exit code 1.
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
trials=500
seed=
build=$(cd "$(dirname "$0")/../.." && pwd)/build
while [ $# -gt 0 ]; do
  case $1 in
    --trials) trials=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    *) echo "usage: $0 [--trials N] [--seed S] [--build DIR]" >&2; exit 2 ;;
  esac
done
export DPNMF_FAULT_TRIALS=$trials
if [ -n "$seed" ]; then export DPNMF_FAULT_SEED=$seed; fi
status=0
for trials in FaultTrials ServerTrials; do
  "$build/tests/faults_test" --gtest_brief=1 --gtest_filter="$trials.*" || status=1
done
exit $status
