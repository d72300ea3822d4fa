#!/usr/bin/env python3
"""bench/import_csv.py [ROWS COLUMNS]: how fast `dpnmf-curator import` reads a CSV,
beside pandas.read_csv (numpy.loadtxt where there is no pandas) in the same run.

CURATOR names the program (build/bin/dpnmf-curator). The file is generated: counts
below 1,000 and decimals, half each. Prints the best of three readings of each, of
which neither checks, writes or charges anything.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CURATOR = os.environ.get("CURATOR", os.path.join(HERE, "..", "build", "bin", "dpnmf-curator"))
REPEATS = 3


def write_csv(path, rows, columns):
    draw = random.Random(1)
    with open(path, "w") as file:
        file.write(",".join(f"f{j}" for j in range(columns)) + "\n")
        for i in range(rows):
            file.write(",".join(str(draw.randrange(1000)) if j % 2 else f"{draw.random():.6f}"
                                for j in range(columns)) + "\n")


def curator_seconds(path, work):
    best = float("inf")
    for repeat in range(REPEATS):
        report = subprocess.run(
            [CURATOR, "import", "--name", f"v{repeat}", "--population", "people", "--input", path,
             "--users", "rows", "--header", "yes", "--label-columns", "0", "--epsilon", "1", "--delta", "1e-9",
             "--data-dir", os.path.join(work, "data"), "--format", "json"],
            check=True, capture_output=True, text=True)
        stages = {stage["stage"]: stage["seconds"] for stage in json.loads(report.stdout)["time"]}
        best = min(best, stages["reading"])
    return best


def python_seconds(path):
    try:
        import pandas
        name, read = f"pandas {pandas.__version__} read_csv", lambda: pandas.read_csv(path)
    except ImportError:
        import numpy
        name, read = f"numpy {numpy.__version__} loadtxt (no pandas)", lambda: numpy.loadtxt(
            path, delimiter=",", skiprows=1)
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        read()
        best = min(best, time.perf_counter() - start)
    return name, best


def main():
    rows, columns = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (50_000, 180)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "v.csv")
        write_csv(path, rows, columns)
        megabytes = os.path.getsize(path) / 1e6
        print(f"{rows} people x {columns} features, {megabytes:.0f} MB")
        ours = curator_seconds(path, work)
        name, theirs = python_seconds(path)
        print(f"  dpnmf-curator import, reading   {ours:6.2f} s  {megabytes / ours:5.0f} MB/s")
        print(f"  {name:<31} {theirs:6.2f} s  {megabytes / theirs:5.0f} MB/s")
        print(f"  {theirs / ours:.2f} times as fast")


if __name__ == "__main__":
    main()
