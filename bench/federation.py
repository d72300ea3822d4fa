"""bench/federation.py [BIN] [--data FILE.npy] [--members 10] [--epsilon 1] [--runs 10]:
people (the digits) split among several curators, as real processes, against one curator with
everything: at the noise that t colluders cost, and at that of averaged releases.

Prints the objective 1/(2N) |V - WH|^2 (columns of V of length 1, H the best for W)
of each: mean, least and most over the runs. The data must be public: these figures
are not private.
"""

import argparse
import gzip
import json
import math
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import numpy as np
from scipy.optimize import brentq, nnls
from scipy.stats import norm

TOP = pathlib.Path(__file__).resolve().parent.parent
DELTA = 1e-5


def epsilon_of(mu):
    """Balle and Wang 2018, Theorem 8."""
    def excess(eps):
        return norm.cdf(-eps / mu + mu / 2) - math.exp(eps + norm.logcdf(-eps / mu - mu / 2)) - DELTA
    return brentq(excess, 0, mu * mu + 20 * mu + 1)


def mu_of(epsilon):
    return brentq(lambda mu: epsilon_of(mu) - epsilon, 1e-2, 10)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", nargs="?", default=str(TOP / "build/bin"))
    parser.add_argument("--data", help=".npy, a person a row [the digits]")
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--colluders", type=int, default=1)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    m, t = args.members, args.colluders
    programs = pathlib.Path(args.bin).resolve()
    work = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    if args.data:
        people = np.load(args.data)
        lines = [",".join(f"{x:g}" for x in row) for row in people]
    else:
        lines = gzip.open(TOP / "examples/digits/digits.csv.gz", "rt").read().splitlines()
    v = np.array([[float(x) for x in line.split(",")] for line in lines]).T
    v /= np.maximum(np.linalg.norm(v, axis=0), 1e-30)

    def run(program, *words):
        done = subprocess.run([str(programs / program), *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{program} {words[0]}: {done.stderr}")
        return done.stdout

    subprocess.run([TOP / "deploy/certs.sh", "demo", work / "certs"], check=True, capture_output=True)

    def tls(who):
        return [f for n, f in (("--ca", "ca.crt"), ("--cert", "tls.crt"), ("--key", "tls.key"))
                for f in (n, str(work / "certs" / who / f))]

    (work / "allow.json").write_text(
        '{"peers": [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]}')
    (work / "clients.json").write_text('{"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}')
    ports = free_ports(m + 2)
    shares = {"all": lines, **{f"h{i}": lines[i::m] for i in range(m)}}
    entries = []
    for who, rows in shares.items():
        (work / f"{who}.csv").write_text("\n".join(rows) + "\n")
        run("dpnmf-curator", "import", "--name", f"digits-{who}", "--population", f"people-{who}", "--input",
            work / f"{who}.csv", "--users", "rows", "--epsilon", 500, "--delta", DELTA, "--data-dir", work / who)
        if who != "all":
            entries.append(json.loads(run(
                "dpnmf-curator", "federation-member", "--data-dir", work / who, "--dataset", f"digits-{who}",
                "--name", who, "--address", f"127.0.0.1:{ports[int(who[1:])]}")))
    (work / "federation.json").write_text(json.dumps({
        "federation": "hospitals", "colluders": t, "copies": 1, "adjacency": "replace_one",
        "conversion": "gaussian", "features": v.shape[0], "normalisation": "l2", "column_bound": 1,
        "max_rank": v.shape[0], "max_rounds": 1000, "epsilon_if_others_collude": 1000, "members": entries}))
    servers = []
    for i, who in enumerate([*(f"h{i}" for i in range(m)), "all"]):
        federated = [] if who == "all" else ["--federation", work / "federation.json"]
        servers.append(subprocess.Popen(
            [programs / "dpnmf-curator", "serve", "--data-dir", work / who, "--allow", work / "allow.json",
             *tls("curator"), "--listen", f"127.0.0.1:{ports[i]}", "--threads", "1", *federated],
            stdout=subprocess.DEVNULL, stderr=open(work / f"{who}.log", "w")))
    servers.append(subprocess.Popen(
        [programs / "dpnmf-analyst", "serve", "--state-dir", work / "state", "--federation", work / "federation.json",
         "--curator", f"127.0.0.1:{ports[m]}", "--clients", work / "clients.json", *tls("analyst"),
         "--listen", f"127.0.0.1:{ports[m + 1]}"], stdout=subprocess.DEVNULL, stderr=open(work / "analyst.log", "w")))
    try:
        client = ["--server", f"127.0.0.1:{ports[m + 1]}", *tls("alice")]
        for _ in range(100):
            if subprocess.run([programs / "dpnmf", *client, "budget", "--federation", "hospitals"],
                              capture_output=True).returncode == 0:
                break
            time.sleep(0.2)

        def objective(name, epsilon, seed):
            out = run("dpnmf", *client, "train", "--dataset", name, "--rank", args.rank, "--epsilon", epsilon,
                      "--delta", DELTA, "--seed", seed, "--spend-again", "--even-if-unreliable", "--wait", "--format", "json")
            run_id = json.loads(out.splitlines()[0])["run_id"]
            run("dpnmf", *client, "model", run_id, "--output", work / "W.npy")
            w = np.load(work / "W.npy")
            return sum(nnls(w, column)[1] ** 2 for column in v.T) / (2 * v.shape[1])

        mu = mu_of(args.epsilon)
        cases = [("federation of %d, t = %d" % (m, t), "hospitals", mu),
                 ("one curator, noise sqrt(%d/%d)" % (m, m - t), "digits-all", mu * math.sqrt((m - t) / m)),
                 ("one curator, noise 1", "digits-all", mu),
                 ("%d releases averaged, noise sqrt(%d)" % (m, m), "digits-all", mu / math.sqrt(m))]
        print(f"{args.data or 'digits'}, D {v.shape[0]}, N {v.shape[1]}, rank {args.rank}, epsilon {args.epsilon:g} at delta {DELTA:g}")
        for what, name, mu_of_case in cases:
            got = [objective(name, epsilon_of(mu_of_case), seed) for seed in range(1, args.runs + 1)]
            print(f"{what:42s} {np.mean(got):.5f}  {min(got):.5f} to {max(got):.5f}", flush=True)
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()
        subprocess.run(["rm", "-rf", str(work)])


if __name__ == "__main__":
    main()
