#!/usr/bin/env bash
# deploy/images.sh [DOCKER_BUILD_ARGUMENT...]: builds the images dpnmf-curator and
# dpnmf-analyst from the committed tree. The analyst's context holds no curator/.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
common=(CMakeLists.txt cmake proto common deploy)
context() { git -C "$top" archive --format=tar HEAD "${common[@]}" "$@"; }
context curator analyst | docker build "$@" -t dpnmf-curator -f deploy/curator.Dockerfile -
context analyst | docker build "$@" -t dpnmf-analyst -f deploy/analyst.Dockerfile -
