#!/usr/bin/env bash
# run.sh [--minutes M] [--build DIR] [--work DIR] [--keep] [TARGET...]: each
# target (all if none is named) for M minutes (30 if left out) under libFuzzer,
# from its seeds and its kept inputs (tests/fuzz/corpus/TARGET). Prints inputs,
# wall and processor time and coverage of each; exit code 1 if one was stopped
# by a finding, which lies in DIR/findings.
#   --build DIR  configured with DPNMF_BUILD_FUZZERS (build-fuzz if left out)
#   --work DIR   where inputs and logs are put (fuzz-work in it if left out)
#   --keep       puts the fewest inputs that cover what the seeds do not into
#                tests/fuzz/corpus/TARGET, those up to 2 KiB
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
minutes=30 build=$here/../../build-fuzz work='' keep='' targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --work) work=$2; shift 2 ;;
    --keep) keep=1; shift ;;
    -*) echo "$0: unknown flag $1; see $0 --help" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
work=${work:-$build/fuzz-work}
if [ ${#targets[@]} -eq 0 ]; then
  for file in "$here"/*_fuzz.cc; do
    targets+=("$(basename "$file" _fuzz.cc)")
  done
fi
mkdir -p "$work/findings"
code=0
printf '%-17s %12s %10s %10s %10s\n' target inputs 'wall (s)' 'cpu (s)' edges
for target in "${targets[@]}"; do
  found=$work/$target seeds=$work/$target.seeds log=$work/$target.log
  kept=$here/corpus/$target
  mkdir -p "$found" "$kept"
  "$build/tests/fuzz_replay" "$target" --write-seeds "$seeds"
  # Leaks are looked for at the end: libraries keep what they have allocated
  # for a thread, and to look after each input takes most of the time.
  # A time-out counts wall time, and the machine may be busy: an input of
  # `wire` that takes six seconds of a quiet one took 404.
  options=(-rss_limit_mb=2048 -timeout=1200 -detect_leaks=0)
  [ "$target" = client_requests ] && export ASAN_OPTIONS=detect_leaks=0
  TIMEFORMAT='%R %U'
  times=$({ time "$build/tests/${target}_fuzz" "${options[@]}" \
    -max_total_time=$((minutes * 60)) -print_final_stats=1 \
    -artifact_prefix="$work/findings/$target-" "$found" "$kept" "$seeds" \
    >"$log" 2>&1; } 2>&1) || code=1
  unset ASAN_OPTIONS
  printf '%-17s %12s %10s %10s %10s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: //p' "$log")" ${times% *} ${times#* } \
    "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)"
  [ -n "$keep" ] || continue
  # A replay runs the seeds as well: only what they do not cover is kept.
  rm -rf "$work/$target.fewest" && cp -r "$seeds" "$work/$target.fewest"
  ASAN_OPTIONS=detect_leaks=0 "$build/tests/${target}_fuzz" "${options[@]}" \
    -set_cover_merge=1 -use_counters=0 -max_len=2048 "$work/$target.fewest" "$kept" \
    "$found" >>"$log" 2>&1
  rm -rf "$kept" "$work/$target.fewest"/seed-* && mv "$work/$target.fewest" "$kept"
done
ls -A "$work/findings"
exit $code
