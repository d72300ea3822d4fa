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
mkdir "$work/root"
docker run --rm --network=none --entrypoint=sh "$1" -c 'cd / && tar -c usr/bin/dpnmf*' | tar -x -C "$work/root"
# shellcheck disable=SC2016
docker run --rm --network=none --entrypoint=dpkg-query "$1" -W \
  -f '${Package} ${Version} ${source:Package} ${Provides}\n' >"$work/installed"
"$top/deploy/sbom.py" --image "$1" --root "$work/root" --installed "$work/installed" "$2"
