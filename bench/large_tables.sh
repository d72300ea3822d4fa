#!/usr/bin/env bash
# bench/large_tables.sh PEOPLE COLUMNS [LAB]: time and peak memory of `dpnmf-lab
# attack` and `distort` on a generated table (counts of rank 7, and the same with
# normal noise of .46). Needs numpy. LAB: build/bin/dpnmf-lab. METHODS: of distort.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lab=${3:-$here/../build/bin/dpnmf-lab}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
/usr/bin/python3 - "$1" "$2" "$scratch" <<'PYTHON'
import sys
import numpy
people, columns, scratch = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
draws = numpy.random.default_rng(1)
w = draws.gamma(2, 1, (people, 7)).astype(numpy.float32)
h = draws.gamma(0.5, 1, (7, columns)).astype(numpy.float32)
table = draws.poisson(w @ h).astype(numpy.float32)
numpy.save(scratch + "/original.npy", table)
table += draws.normal(0, 0.46, table.shape).astype(numpy.float32)
numpy.save(scratch + "/noised.npy", table)
PYTHON
measured() {
  /usr/bin/python3 - "$@" <<'PYTHON'
import resource
import subprocess
import sys
import time
begin = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%s: status %d, %.0f s, %.0f s of the processor, %.2f GB at most" % (
    " ".join(sys.argv[2:4] if sys.argv[2] == "attack" else sys.argv[2:6]), status, time.perf_counter() - begin,
    used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20))
PYTHON
}
measured "$lab" attack --original "$scratch/original.npy" --published "$scratch/noised.npy" --public --seed 1 \
  --threads 1 --output "$scratch/attacked"
for method in ${METHODS:-svd nmf}; do
  measured "$lab" distort --method "$method" --input "$scratch/original.npy" --users rows --public --seed 1 \
    --threads 1 --output "$scratch/$method"
done
