#!/usr/bin/env python3
"""
bench/chooser.py OUTPUT [--bin BIN] [--only NAME,...] [--epsilon 1,4,16] [NAME=FILE ...]:
how many parts `dpnmf choose` advises and how many `dpnmf plan` says to rely on, beside
the truth and beside what a stability analysis finds without privacy (docs/research/utility.md).

Real servers, one population a release. OUTPUT: a CSV file, a line a release. Data:
`gK-N` (K sparse parts of 64 features, N people, K 5, 10, 20, N 2,000 and 20,000) and the
digits are always there; the others need a file: faces=FILE.npy (pixels x pictures),
counts=FILE.csv (a row a feature; a header, two columns of names), text=FILE.mtx.gz (terms
x documents).

  advised   by `dpnmf choose` with its defaults, on --ranks of the data
  without   by the same rule from the data: ten fits of other starts to random halves of
            2,000 people, as cNMF has it; the largest rank whose parts are found again
            (cosine .8, all but half a part or 5 %), within .04 of the best mean cosine
  plan      parts to rely on, by `dpnmf plan` at the rank of the run
  measured  columns of the released W whose cosine to one of the parts without privacy
            (the best of five fits to the data, matched one to one) is above .8
  again     the same for the second of these fits in the place of the released W
  reliable  parts that `dpnmf model --parts` calls so

The data must be public: these figures are not private.
"""

import argparse
import gzip
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import numpy as np
from scipy.optimize import linear_sum_assignment

TOP = pathlib.Path(__file__).resolve().parent.parent


# ---- Data: features x people

def generated(parts, people):
    """64 features, sparse parts and usages, 5 % noise."""
    random = np.random.default_rng(parts * 100000 + people)
    w = random.gamma(1, 1, (64, parts)) * (random.random((64, parts)) < .2)
    w[random.integers(64, size=parts), np.arange(parts)] += 1
    h = random.gamma(1, 1, (parts, people)) * (random.random((parts, people)) < .3)
    h[random.integers(parts, size=people), np.arange(people)] += .5
    v = (w / np.linalg.norm(w, axis=0)) @ h
    return np.maximum(v + .05 * v.std() * random.standard_normal(v.shape), 0)


def digits(_):
    with gzip.open(TOP / "examples/digits/digits.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",").T


def counts(path):
    with open(path) as file:
        next(file)
        return np.array([[float(x) for x in line.rstrip().split(",")[2:]] for line in file])


def text(path):
    """The 1,024 most used terms."""
    from scipy.io import mmread
    v = mmread(gzip.open(path)).tocsr()
    used = np.asarray((v > 0).sum(axis=1)).ravel()
    return v[np.sort(np.argsort(-used, kind="stable")[:1024])].toarray()


# Name: how it is read, rank of the run, ranks that are compared. Of text without
# privacy every fifth one, for time.
DATA = {
    **{f"g{k}-{n}": (lambda _, k=k, n=n: generated(k, n), k, "2:26") for k in (5, 10, 20) for n in (2000, 20000)},
    "digits": (digits, 10, "2:20"),
    "faces": (lambda path: np.load(path).astype(float), 50, "2:20"),
    "counts": (counts, 15, "2:20"),
    "text": (text, 30, "2:40"),
}


# ---- Without privacy

def fit(v, rank, seed, steps=150):
    """Hierarchical alternating least squares from a random start; W and 1/(2N) |V - WH|^2."""
    random = np.random.default_rng(seed)
    w = random.random((v.shape[0], rank)) * v.mean()
    h = random.random((rank, v.shape[1]))
    for _ in range(steps):
        for of, other, product in ((h, w.T @ w, w.T @ v), (w.T, None, None)):
            if other is None:
                other, product = h @ h.T, (v @ h.T).T
            for k in range(rank):
                of[k] = np.maximum(of[k] + (product[k] - other[k] @ of) / max(other[k, k], 1e-12), 1e-12)
    return w, np.sum((v - w @ h) ** 2) / (2 * v.shape[1])


def cosines(a, b):
    """Of the columns of a, each with its match in b."""
    norms = [np.maximum(np.linalg.norm(x, axis=0), 1e-12) for x in (a, b)]
    all_pairs = (a / norms[0]).T @ (b / norms[1])
    rows, columns = linear_sum_assignment(-all_pairs)
    return all_pairs[rows, columns]


def rank_without_privacy(v, ranks, repeats=10):
    stable, mean = {}, {}
    for rank in ranks:
        found = []
        for seed in range(repeats):
            order = np.random.default_rng(seed).permutation(v.shape[1])[:2000]
            halves = order[: len(order) // 2], order[len(order) // 2:]
            found.append(cosines(*(fit(v[:, half], rank, 2 * seed + i, 60)[0] for i, half in enumerate(halves))))
        stable[rank] = np.mean([np.sum(c >= .8) for c in found])
        mean[rank] = np.mean(found)
    good = [k for k in ranks if stable[k] >= k - max(.5, .05 * k)]
    best = max((mean[k] for k in good), default=0)
    return max((k for k in good if mean[k] >= best - .04), default=0)


# ---- The servers

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Servers:
    def __init__(self, programs, work):
        self.programs, self.work = programs, work
        subprocess.run([TOP / "deploy/certs.sh", "demo", work / "certs"], check=True, capture_output=True)
        (work / "allow.json").write_text(
            '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}')
        (work / "clients.json").write_text('{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}')

    def tls(self, who):
        return [f for n, f in (("--ca", "ca.crt"), ("--cert", "tls.crt"), ("--key", "tls.key"))
                for f in (n, str(self.work / "certs" / who / f))]

    def run(self, program, *words):
        done = subprocess.run([str(self.programs / program), *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{program} {words[-1]}: {done.stderr}")
        return done.stdout

    def client(self, *words):
        return self.run("dpnmf", "--server", f"127.0.0.1:{self.ports[1]}", *self.tls("alice"), *words)

    def start(self):
        self.ports = free_port(), free_port()
        self.processes = [
            subprocess.Popen([self.programs / "dpnmf-curator", "serve", "--data-dir", self.work / "data", "--allow",
                              self.work / "allow.json", *self.tls("curator"), "--listen", f"127.0.0.1:{self.ports[0]}"],
                             stdout=subprocess.DEVNULL, stderr=open(self.work / "curator.log", "w")),
            subprocess.Popen([self.programs / "dpnmf-analyst", "serve", "--state-dir", self.work / "state", "--curator",
                              f"127.0.0.1:{self.ports[0]}", "--clients", self.work / "clients.json",
                              *self.tls("analyst"), "--listen", f"127.0.0.1:{self.ports[1]}"],
                             stdout=subprocess.DEVNULL, stderr=open(self.work / "analyst.log", "w"))]
        for _ in range(300):
            if subprocess.run([self.programs / "dpnmf", "--server", f"127.0.0.1:{self.ports[1]}", *self.tls("alice"),
                               "datasets"], capture_output=True).returncode == 0:
                return
            time.sleep(0.2)
        raise SystemExit("The servers did not start.")

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("files", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--bin", default=str(TOP / "build/bin"))
    parser.add_argument("--only", default="", help="names of data")
    parser.add_argument("--epsilon", default="1,4,16")
    parser.add_argument("--rank", type=int, help="of the runs [by the data]")
    parser.add_argument("--no-choice", action="store_true", help="plan and measured alone")
    args = parser.parse_intermixed_args()
    files = dict(word.split("=", 1) for word in args.files)
    names = args.only.split(",") if args.only else [
        name for name in DATA if name in files or name == "digits" or name.startswith("g")]
    epsilons = [float(x) for x in args.epsilon.split(",")]
    with tempfile.TemporaryDirectory() as folder, open(args.output, "w", buffering=1) as out:
        work = pathlib.Path(folder)
        servers = Servers(pathlib.Path(args.bin).resolve(), work)
        columns = {}
        for name in names:
            v = DATA[name][0](files.get(name))
            v = v[:, v.sum(axis=0) > 0]
            columns[name] = v / np.linalg.norm(v, axis=0)
            np.save(work / "v.npy", np.ascontiguousarray(columns[name].T.astype(np.float32)))
            servers.run("dpnmf-curator", "import", "--name", name, "--population", name, "--input", work / "v.npy",
                        "--users", "rows", "--epsilon", 100, "--delta", 1e-5, "--data-dir", work / "data")
        servers.start()
        try:
            print("data,features,people,rank,epsilon,without,advised,plan,measured,again,reliable,seconds", file=out)
            for name in names:
                rank, ranks = args.rank or DATA[name][1], DATA[name][2]
                v = columns[name]
                first, last = map(int, ranks.split(":"))
                without = "" if args.no_choice else rank_without_privacy(
                    v, [k for k in range(first, last + 1) if name != "text" or k % 5 == 0])
                seen = np.random.default_rng(0).permutation(v.shape[1])[:5000]
                fits = sorted((fit(v[:, seen], rank, seed) for seed in range(5)), key=lambda one: one[1])
                exact = fits[0][0]
                again = int(np.sum(cosines(fits[1][0], exact) > .8))
                for epsilon in epsilons:
                    words = ["--dataset", name, "--rank", rank, "--epsilon", epsilon, "--delta", 1e-5]
                    plan = json.loads(servers.client("plan", *words, "--format", "json"))
                    run = json.loads(servers.client("train", *words, "--spend-again", "--even-if-unreliable", "--wait", "--format",
                                                    "json").splitlines()[0])["run_id"]
                    servers.client("model", run, "--output", work / "W.npy", "--parts", work / "parts.csv")
                    parts = (work / "parts.csv").read_text().splitlines()
                    reliable = [x.split(",")[parts[0].split(",").index("reliability")] for x in parts[1:]]
                    advised, seconds = "", ""
                    if not args.no_choice:
                        begun = time.monotonic()
                        lines = servers.client("choose", run, "--rank", ranks, "--format", "json").splitlines()
                        seconds = f"{time.monotonic() - begun:.1f}"
                        advised = next(one["choice"]["rank"] for one in map(json.loads, reversed(lines))
                                       if "choice" in one)
                    measured = int(np.sum(cosines(np.load(work / "W.npy"), exact) > .8))
                    print(name, v.shape[0], v.shape[1], rank, epsilon, without, advised,
                          plan["forecast"]["reliable_parts"], measured, again, sum(float(x) >= .8 for x in reliable),
                          seconds, sep=",", file=out)
        finally:
            servers.stop()


if __name__ == "__main__":
    main()
