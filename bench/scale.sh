#!/usr/bin/env bash
# bench/scale.sh [OUTPUT [N ...]]: how one round grows with the users (generated
# data, D = 50, K = 10). A table on standard output and in OUTPUT/scale.md, the
# measurements in OUTPUT/scale.jsonl and a plot in OUTPUT/scale.svg. OUTPUT:
# [scale]; N: [10000 100000 1000000 10000000]. The largest takes 3 GB of memory.
#
# From the environment: THREADS (all), FEATURES (50), RANK (10), BENCH
# (build/bench/dpnmf_scale_bench, built if it is not there).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
output=${1:-scale}
shift || true
[ $# -gt 0 ] || set -- 10000 100000 1000000 10000000
bench=${BENCH:-$here/../build/bench/dpnmf_scale_bench}
if [ ! -x "$bench" ]; then
  DPNMF_TARGET=dpnmf_scale_bench "$here/../deploy/build.sh" "$here/../build" -DDPNMF_BUILD_BENCH=ON >&2
fi
mkdir -p "$output"
# One process for each N: its peak of memory is its own.
for users in "$@"; do
  "$bench" "${FEATURES:-50}" "${RANK:-10}" "${THREADS:-$(nproc)}" "$users"
done >"$output/scale.jsonl"
/usr/bin/python3 "$here/scale_plot.py" "$output/scale.jsonl" "$output/scale.svg" | tee "$output/scale.md"
