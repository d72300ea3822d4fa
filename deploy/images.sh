#!/usr/bin/env bash
# deploy/images.sh [DOCKER_BUILD_ARGUMENT...]: builds the images dpnmf-curator and
# dpnmf-analyst from the committed tree. The analyst's build context does not
# contain curator/. Both are built in the image dpnmf-build, which contains the
# compiler and which no container runs. Packages have the versions of deploy/*.lock.
#
#   DPNMF_UNPINNED=1   uses the versions of the mirror instead
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
common=(CMakeLists.txt cmake proto common deploy)
context() { git -C "$top" archive --format=tar HEAD "${common[@]}" "$@"; }
arguments=(--build-arg "DPNMF_UNPINNED=${DPNMF_UNPINNED:-}" "$@")
# The analyst's side first: it compiles the shared code, without curator/.
context analyst | docker build "${arguments[@]}" --target build -t dpnmf-build -f deploy/analyst.Dockerfile -
context analyst | docker build "${arguments[@]}" -t dpnmf-analyst -f deploy/analyst.Dockerfile -
context analyst curator | docker build "${arguments[@]}" -t dpnmf-curator -f deploy/curator.Dockerfile -
