#!/usr/bin/env bash
# deploy/image_sbom.sh IMAGE BUILD_DIR: prints the SBOM (SPDX 2.3) of an image that
# deploy/images.sh made: its programs, what is in them, and each Debian package of the
# image. BUILD_DIR is where the same tree was built: the image has no compiler's lists.
set -euo pipefail
case "${1:-}" in -h | --help | "")
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
docker run --rm --network=none --user=0 --entrypoint=tar "$1" -c -C / usr/bin --exclude='usr/bin/[!d]*' | tar -x -C "$work"
# shellcheck disable=SC2016
docker run --rm --network=none --entrypoint=dpkg-query "$1" -W \
  -f '${Package} ${Version} ${source:Package} ${Provides}\n' >"$work/installed"
mkdir "$work/root" "$work/root/usr" "$work/root/usr/bin"
mv "$work"/usr/bin/dpnmf* "$work/root/usr/bin"
"$top/deploy/sbom.py" --image "$1" --root "$work/root" --installed "$work/installed" "$2"
