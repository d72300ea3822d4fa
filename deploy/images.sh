#!/usr/bin/env bash
# deploy/images.sh [DOCKER_BUILD_ARGUMENT...]: builds the images dpnmf-curator and
# dpnmf-analyst from the committed tree. The analyst's build context does not
# contain curator/. Both are built in the image dpnmf-build, which contains the
# compiler and which no container runs. Packages have the versions of deploy/*.lock.
#
#   DPNMF_UNPINNED=1           uses the versions of the mirror instead
#   DPNMF_COMPILER_CACHE=DIR   takes what is compiled from this directory of ccache
#                              where it has the same sources, compiler and headers. For
#                              checks on a machine that has just built the same tree:
#                              whoever can write to DIR decides what the programs do
set -euo pipefail
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd)
common=(LICENSE CMakeLists.txt cmake proto common deploy)
cache=${DPNMF_COMPILER_CACHE:-}
[ -z "$cache" ] || [ -d "$cache" ] || { echo "DPNMF_COMPILER_CACHE=$cache is no directory: name the one that 'ccache -k cache_dir' prints" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# NAME FOLDER...: a context with these folders of the committed tree.
context() {
  local name=$1
  shift
  git -C "$top" archive --format=tar -o "$work/$name" HEAD "${common[@]}" "$@"
}
context analyst analyst client
context curator analyst client curator lab
arguments=(--build-arg "DPNMF_UNPINNED=${DPNMF_UNPINNED:-}" "$@")
if [ -n "$cache" ]; then
  # The build stage alone holds the cache; the curator's is made on that stage. ccache
  # counts the locale to what a result depends on.
  tar -r -f "$work/analyst" -C "$cache" --transform 's,^[.],compiler-cache,' --exclude=./tmp .
  settings=CCACHE_DIR=/src/compiler-cache
  for name in LANG LC_ALL LC_CTYPE LC_MESSAGES; do
    [ -z "${!name+set}" ] || settings+=" $name=${!name}"
  done
  arguments+=(--build-arg "DPNMF_COMPILER_CACHE=$settings")
fi
# The analyst's side first: it compiles the shared code, without curator/.
docker build "${arguments[@]}" --target build -t dpnmf-build -f deploy/analyst.Dockerfile - <"$work/analyst"
docker build "${arguments[@]}" -t dpnmf-analyst -f deploy/analyst.Dockerfile - <"$work/analyst"
docker build "${arguments[@]}" -t dpnmf-curator -f deploy/curator.Dockerfile - <"$work/curator"
