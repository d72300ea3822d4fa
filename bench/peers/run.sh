#!/usr/bin/env bash
# bench/peers/run.sh [FILE[:RANK] ...]: `dpnmf-lab factorize` beside
# scikit-learn and gensim, on the same files to the same objectives, in turn,
# several times; one table of medians (time, objective, peak memory).
#
# Files: .npy or Matrix Market (.mtx, .mtx.gz), people as columns. RANK is 50
# for .npy and 30 for the others if not given. Without files, or where a file is
# absent: generated data of the shapes of the CBCL faces and the TDT2 corpus.
# Installs Debian's python3-sklearn, python3-gensim and OpenBLAS if they are
# missing (as root).
#
# From the environment: REPEATS (3), SKLEARN_ITERATIONS (200), GENSIM_PASSES (20;
# 0 leaves that peer out), LAB (build/bin/dpnmf-lab).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
case "${1:-}" in -h | --help)
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 0
  ;;
esac
missing=()
for package in python3-sklearn python3-gensim libopenblas0-pthread; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "missing packages: ${missing[*]}; run this as root, or install them" >&2
    exit 1
  fi
  echo "installing: ${missing[*]}" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi
lab=${LAB:-$top/build/bin/dpnmf-lab}
if [ ! -x "$lab" ]; then
  echo "building $lab" >&2
  DPNMF_TARGET=dpnmf-lab "$top/deploy/build.sh" "$top/build" >&2
fi
generated=
trap '[ -z "$generated" ] || rm -rf "$generated"' EXIT
stand_in() { # NAME RANK
  if [ -z "$generated" ]; then
    generated=$(mktemp -d)
    echo "generating data" >&2
    /usr/bin/python3 "$here/generate.py" "$generated"
  fi
  arguments+=("$generated/$1:$2")
}
[ $# -gt 0 ] || set -- /absent.npy:50 /absent.mtx:30
arguments=()
for argument in "$@"; do
  file=$argument rank=
  if [[ $argument =~ ^(.*):([0-9]+)$ ]]; then file=${BASH_REMATCH[1]} rank=${BASH_REMATCH[2]}; fi
  if [[ $file == *.npy ]]; then kind=dense.npy rank=${rank:-50}; else kind=sparse.mtx rank=${rank:-30}; fi
  if [ -r "$file" ]; then
    arguments+=("$file:$rank")
  else
    [[ $file == /absent.* ]] || echo "$file is not there: generated data instead" >&2
    stand_in $kind "$rank"
  fi
done
/usr/bin/python3 "$here/compare.py" "$lab" "${REPEATS:-3}" "${arguments[@]}"
