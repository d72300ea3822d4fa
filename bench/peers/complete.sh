#!/usr/bin/env bash
# bench/peers/complete.sh RATINGS [BENCH]: the completions beside numpy, one core
# each, in turn, three times. Lines of user, item, rating. BENCH:
# build/bench/dpnmf_complete_bench.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bench=${2:-$here/../../build/bench/dpnmf_complete_bench}
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
for _ in 1 2 3; do
  echo "dpnmf $("$bench" "$1")"
  echo "numpy $(/usr/bin/python3 "$here/complete_peer.py" "$1")"
done
