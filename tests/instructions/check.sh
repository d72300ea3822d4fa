#!/usr/bin/env bash
# check.sh [--refresh] [PROGRAM]: counts the instructions of the kernels under
# callgrind and compares them with counts.txt; --refresh rewrites that file.
#
# The count of seven repeats minus that of two is the cost of the repeats without
# the start of the program. valgrind has no AVX-512, so the x86-64-v3 kernels run
# on every machine. Instructions, unlike seconds, do not change from run to run;
# the differences between builds of a library or compiler stay within the band.
# PROGRAM: kernel_instructions [build/tests/kernel_instructions].
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
refresh=no
if [ "${1:-}" = --refresh ]; then
  refresh=yes
  shift
fi
program=${1:-$here/../../build/tests/kernel_instructions}
stored=$here/counts.txt
band=4 # per cent
few=2 many=7

count() { # NAME REPEATS
  local said
  said=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1) || {
    echo "$said" >&2
    return 1
  }
  sed -n 's/^==[0-9]*== Collected : //p' <<<"$said"
}

names=$("$program" list)
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
for name in $names; do
  less=$(count "$name" $few)
  more=$(count "$name" $many)
  echo "$name $(((more - less) / (many - few)))"
done >"$fresh"
if [ $refresh = yes ]; then
  { echo "# Instructions a repeat, by check.sh --refresh (x86-64-v3 kernels)."; cat "$fresh"; } >"$stored"
  cat "$stored"
  exit 0
fi
awk -v band=$band '
  FNR == NR { if ($1 != "#") expected[$1] = $2; next }
  {
    seen[$1]
    if (!($1 in expected)) { printf "%-22s %12d  has no stored count\n", $1, $2; bad = 1; next }
    change = 100 * ($2 / expected[$1] - 1)
    fine = change <= band && change >= -band
    printf "%-22s %12d  stored %12d  %+.1f %%%s\n", $1, $2, expected[$1], change, fine ? "" : "  OUTSIDE THE BAND"
    if (!fine) bad = 1
  }
  END {
    for (name in expected) if (!(name in seen)) { print name " was not counted"; bad = 1 }
    if (bad) { print "If this is meant: tests/instructions/check.sh --refresh"; exit 1 }
  }' "$stored" "$fresh"
