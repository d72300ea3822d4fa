#!/usr/bin/env bash
# tests/packages/reproduce.sh PACKAGES: makes the packages of the committed tree again,
# without a compiler's cache, in another folder, with another locale, time zone, umask
# and number of jobs, and compares them with those in PACKAGES.
set -euo pipefail
[ $# = 1 ] && [ -d "$1" ] || {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}
top=$(cd "$(dirname "$0")/../.." && pwd)
first=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a folder"
git -C "$top" archive HEAD | tar -x -C "$work/a folder"
(
  umask 077
  export CCACHE_DISABLE=1 LC_ALL=C TZ=Pacific/Apia CMAKE_BUILD_PARALLEL_LEVEL=$(($(nproc) + 2))
  SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  "$work/a folder/deploy/packages.sh" "$work/b" >"$work/log"
) || { tail -n 20 "$work/log"; exit 1; }
differs=0
for file in "$first"/*; do
  cmp "$file" "$work/b/packages/$(basename "$file")" && continue
  differs=$((differs + 1))
  ! command -v diffoscope >/dev/null || diffoscope "$file" "$work/b/packages/$(basename "$file")" | head -n 60 || true
done
[ "$(ls "$first")" = "$(ls "$work/b/packages")" ] || { echo "FAILED: not the same packages"; exit 1; }
[ $differs = 0 ] || { echo "FAILED: $differs files differ"; exit 1; }
echo "$(find "$first" -type f | wc -l) files are the same, bit for bit"
