#!/usr/bin/env bash
# bench/scale.sh [OUTPUT [N ...]]: how one round grows with the users (generated
# data, D = 50, K = 10). A table on standard output and in OUTPUT/scale.md, the
# measurements in OUTPUT/scale.jsonl and a plot in OUTPUT/scale.svg. OUTPUT:
# [scale]; N: [10000 100000 1000000 10000000]. The largest takes 3 GB of memory.
#
# bench/scale.sh --ranks R [OUTPUT]: rounds of R ranks of one thread, and of four,
# beside one process with R threads, in turn; and the time of MPI's part. Lines of
# JSON on standard output and in OUTPUT/ranks.jsonl. REPEATS: [15].
#
# bench/scale.sh --ranks R --growth [OUTPUT]: how rounds of R ranks of one thread
# grow with the people, in parts that no process has all of: `moments` and rounds
# of A and B of 1, 10 and 100 million people (D = 50, K = 10, 8 nonzeros a person).
# Lines of JSON on standard output and in OUTPUT/growth.jsonl. The largest takes
# 7.3 GB in WORK [a directory in /tmp] and 8 GB of memory.
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
if [ "${1:-}" = --ranks ]; then
  ranks=${2:?--ranks needs a number}
  build=$here/../build
  if [ "${3:-}" = --growth ]; then
    output=${4:-scale}
    DPNMF_TARGET="dpnmf-ranks dpnmf_growth_bench" "$here/../deploy/build.sh" "$build" \
      -DDPNMF_BUILD_BENCH=ON -DDPNMF_RANKS=ON >&2
    mkdir -p "$output"
    work=$(mktemp -d -p "${WORK:-/tmp}")
    trap 'rm -rf "$work"' EXIT
    for shape in "1000000 moments" "10000000 moments" "100000000 moments" "1000000 statistics" "10000000 statistics" \
      "100000000 statistics"; do
      rm -rf "${work:?}"/*
      "$build/bench/dpnmf_growth_bench" "$build/bin/dpnmf-ranks" "$work" "${shape% *}" "$ranks" "${shape#* }" \
        2>>"$output/ranks.log"
    done | tee "$output/growth.jsonl"
    exit
  fi
  output=${3:-scale}
  DPNMF_TARGET="dpnmf-ranks dpnmf_ranks_bench dpnmf_reduce_bench" "$here/../deploy/build.sh" "$build" \
    -DDPNMF_BUILD_BENCH=ON -DDPNMF_RANKS=ON >&2
  mkdir -p "$output"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  run=(mpirun --oversubscribe --bind-to none --host localhost:8)
  [ "$(id -u)" != 0 ] || run+=(--allow-run-as-root)
  {
    # D, K, N, nonzeros a person (0: dense).
    for shape in "9394 30 20000 100" "9394 30 20000 1000" "361 50 40000 0"; do
      for many in "$ranks" 4; do
        # shellcheck disable=SC2086
        "$build/bench/dpnmf_ranks_bench" "$build/bin/dpnmf-ranks" "$work" $shape "$many" "$ranks" "${REPEATS:-15}" \
          2>>"$output/ranks.log"
      done
    done
    # A and B at D = 9,394, K = 30: 282,285 integers; W: 2,254,560 bytes.
    for many in "$ranks" 4; do
      mkdir -p "$work/$many"
      "${run[@]}" -n "$many" "$build/bench/dpnmf_reduce_bench" 282285 2254560 "$work/$many"
    done
  } | tee "$output/ranks.jsonl"
  exit
fi
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
