#!/usr/bin/env bash
# deploy/packages.sh [BUILD_DIR]: makes the Debian packages dpnmf-curator,
# dpnmf-analyst, dpnmf, dpnmf-lab and, where Open MPI is, dpnmf-ranks in
# BUILD_DIR/packages [build], each with its SBOM (SPDX 2.3, NAME.spdx.json). Builds in
# BUILD_DIR what is missing. The same tree and the same Debian packages give the same
# bytes: dates in them are SOURCE_DATE_EPOCH, by default that of the commit. Needs the
# packages of 'deploy/install.sh packages'.
set -euo pipefail
case "${1:-}" in -*)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || stat -c %Y "$top/CMakeLists.txt")}
DPNMF_TARGET=package_files "$top/deploy/build.sh" "$build"
build=$(cd "$build" && pwd)
rm -rf "$build/packages"
log=$build/packages.log
if ! (cd "$build" && umask 022 && cpack -G DEB) >"$log" 2>&1; then
  grep -iE 'error' "$log" | head -20 >&2
  echo "the packages cannot be made; full log: $log" >&2
  exit 1
fi
rm -rf "$build/packages/_CPack_Packages"
for package in "$build"/packages/*.deb; do
  "$top/deploy/sbom.py" "$package" "$build" >"${package%.deb}.spdx.json"
done
ls -1 "$build"/packages/*.deb
