#!/usr/bin/python3
"""compare.py LAB REPEATS FILE:RANK ...: the table of bench/peers/run.sh.

For every file and every repeat, in turn: scikit-learn's NMF (200 iterations),
`dpnmf-lab factorize` to the objective that it reached, gensim's Nmf (20
passes) and factorize to that. Times are those of the fit, without reading.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = {"sklearn": int(os.environ.get("SKLEARN_ITERATIONS", "200")),
         "gensim": int(os.environ.get("GENSIM_PASSES", "20"))}


def run_peer(peer, path, rank):
    done = subprocess.run(
        ["/usr/bin/python3", os.path.join(HERE, "peer.py"), peer, path, str(rank), str(PEERS[peer])],
        stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def run_factorize(lab, path, rank, target):
    """The fit's seconds and the whole process's peak memory."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [lab, "factorize", "--input", path, "--users", "columns",
                   "--rank", str(rank), "--output", os.path.join(scratch, "W.npy"),
                   "--iterations", "2000", "--format", "json",
                   "--target-objective", repr(target)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit("factorize failed: " + " ".join(command))
    report = json.loads(said)
    return {"seconds": report["seconds"], "objective": report["objective"],
            "megabytes": usage.ru_maxrss / 1024, "stopped_by": report["stopped_by"]}


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def row(name, what, runs):
    print("| %s | %s | %.3g | %.5f | %.0f | |" % (
        name, what, median(runs, "seconds"), median(runs, "objective"), median(runs, "megabytes")), flush=True)


def compare(lab, repeats, path, rank):
    name = "%s, rank %d" % (os.path.basename(path), rank)
    wanted = [peer for peer in PEERS if PEERS[peer] > 0]
    runs = {peer: [] for peer in wanted}
    own = {peer: [] for peer in wanted}
    for _ in range(repeats):
        for peer in wanted:
            runs[peer].append(run_peer(peer, path, rank))
            target = runs[peer][-1]["objective"]
            own[peer].append(run_factorize(lab, path, rank, target))
    for peer in wanted:
        unit = "iterations" if peer == "sklearn" else "passes"
        row(name, "%s, %d %s" % (peer, PEERS[peer], unit), runs[peer])
        ratios = [a["seconds"] / b["seconds"] for a, b in zip(own[peer], runs[peer])]
        reached = all(run["stopped_by"] == "target-objective" for run in own[peer])
        print("| %s | factorize to that | %.3g | %.5f | %.0f | %.3f of %s's (%.3f to %.3f)%s |" % (
            name, median(own[peer], "seconds"), median(own[peer], "objective"),
            median(own[peer], "megabytes"), statistics.median(ratios), peer, min(ratios), max(ratios),
            "" if reached else "; NOT REACHED"), flush=True)


def main():
    lab, repeats = sys.argv[1], int(sys.argv[2])
    print("| data | what | seconds (median) | objective | peak MB | time, median (range) |")
    print("|---|---|---|---|---|---|", flush=True)
    for argument in sys.argv[3:]:
        path, _, rank = argument.rpartition(":")
        compare(lab, repeats, path, int(rank))


main()
