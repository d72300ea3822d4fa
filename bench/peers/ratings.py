#!/usr/bin/python3
"""ratings.py DIRECTORY [REPEATS]: a whole private run of `ratings` beside ALS for
implicit feedback (Hu, Koren and Volinsky 2008) in numpy, on the same ratings,
in turn.

DIRECTORY: ratings.csv, items.txt and item_features.csv as
bench/generate_ratings.py makes them; made (in the size of MovieLens 1M) if it is
not there. REPEATS: [3]. From the environment: LAB (build/bin/dpnmf-lab),
THREADS (2), FACTORS (32), ITERATIONS (15, the default of the package
`implicit`), EPSILON (4).

The private run is `dpnmf-lab evaluate --methods ratings`: its five or more rounds
of sums over people, the noise, and what the analyst learns from them, without
reading the file and without metrics. ALS: iterations of exact solves, without
reading. Both learn from nine tenths of the ratings. Elapsed seconds of each, the
medians and their ratio.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = os.environ.get("THREADS", "2")
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = THREADS  # read by numpy when it starts
import numpy
import scipy.sparse

HERE = os.path.dirname(os.path.abspath(__file__))
FACTORS = int(os.environ.get("FACTORS", "32"))
ITERATIONS = int(os.environ.get("ITERATIONS", "15"))
ALPHA, RIDGE = 40.0, 0.1


def load(directory):
    """Nine tenths of the ratings as a sparse matrix, people x items."""
    items = {name: i for i, name in enumerate(
        open(os.path.join(directory, "items.txt")).read().split())}
    people, rows, columns, values = {}, [], [], []
    with open(os.path.join(directory, "ratings.csv")) as lines:
        next(lines)
        for line in lines:
            person, item, rating = line.split(",")
            rows.append(people.setdefault(person, len(people)))
            columns.append(items[item])
            values.append(float(rating))
    kept = numpy.random.default_rng(1).random(len(rows)) < 0.9
    return scipy.sparse.csr_matrix(
        (numpy.array(values)[kept], (numpy.array(rows)[kept], numpy.array(columns)[kept])),
        shape=(len(people), len(items)))


def solve(data, other):
    """Rows x = (Y'Y + Y'(C - I)Y + ridge I)^-1 Y' C p of one side."""
    gram = other.T @ other + RIDGE * numpy.eye(FACTORS)
    result = numpy.zeros((data.shape[0], FACTORS))
    for row in range(data.shape[0]):
        begin, end = data.indptr[row], data.indptr[row + 1]
        if begin == end:
            continue
        y = other[data.indices[begin:end]]
        extra = ALPHA * data.data[begin:end, None] * y
        result[row] = numpy.linalg.solve(gram + extra.T @ y, (extra + y).sum(axis=0))
    return result


def als(data):
    begin = time.monotonic()
    random = numpy.random.default_rng(2)
    items = 0.1 * random.normal(size=(data.shape[1], FACTORS))
    by_item = data.T.tocsr()
    for _ in range(ITERATIONS):
        people = solve(data, items)
        items = solve(by_item, people)
    return time.monotonic() - begin


def private_run(lab, directory):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [lab, "evaluate", "--ratings", os.path.join(directory, "ratings.csv"),
             "--items", os.path.join(directory, "items.txt"),
             "--item-features", os.path.join(directory, "item_features.csv"),
             "--rating-range", "1,5", "--epsilon", os.environ.get("EPSILON", "4"),
             "--methods", "ratings", "--repeats", "1", "--threads", THREADS,
             "--output", os.path.join(scratch, "out")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return float(re.search(r"^ratings .* (\S+)$", done.stdout, re.MULTILINE).group(1))


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    directory = sys.argv[1]
    if not os.path.exists(os.path.join(directory, "ratings.csv")):
        subprocess.run(["/usr/bin/python3", os.path.join(HERE, "..", "generate_ratings.py"),
                        directory], check=True)
    lab = os.environ.get("LAB", os.path.join(HERE, "..", "..", "build", "bin", "dpnmf-lab"))
    data = load(directory)
    ours, theirs = [], []
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        ours.append(private_run(lab, directory))
        theirs.append(als(data))
        print("private run %.2f s, ALS %.2f s" % (ours[-1], theirs[-1]), flush=True)
    print("%d x %d, %d ratings: private run %.2f s, ALS with %d factors and %d iterations %.2f s, "
          "ratio %.3f" % (data.shape + (data.nnz, statistics.median(ours), FACTORS, ITERATIONS,
                                        statistics.median(theirs),
                                        statistics.median(ours) / statistics.median(theirs))))


if __name__ == "__main__":
    main()
