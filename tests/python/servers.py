"""Both servers on loopback over mutual TLS, with data sets and certificates."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["DPNMF_BIN"])


def run(*command, **options):
    """The program's output; its errors are part of the failure."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def people(users=300):
    """Users x 8; each has one of two parts of four features."""
    n, d = np.mgrid[0:users, 0:8]
    return np.where(d // 4 == n % 2, 1 + (n * 7 + d) % 5, 0)


class Servers:
    """`work` holds everything; `close` ends both servers."""

    def __init__(self):
        memory = pathlib.Path("/dev/shm")
        self.work = pathlib.Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
        self.processes = []
        self.certs("demo", self.work / "certs")
        self.certs("issue", self.work / "certs", "mallory", "--dns", "mallory.client")
        self.directories = ["--data-dir", self.work / "data", "--anchor-dir", self.work / "anchor"]
        self._import()
        peers = [{"identity": "dns:analyst", "roles": ["analyst"], "datasets": ["*"]}]
        self._write("allow.json", json.dumps({"peers": peers}))
        self._write("clients.json", json.dumps({"peers": [{"identity": "dns:alice.client", "roles": ["analyst"]}]}))
        self.curator_port = self._start(
            "curator", r"sets on 127\.0\.0\.1:(\d+)", *self.directories, "--allow", self.work / "allow.json"
        )
        self.port = self._start(
            "analyst", r"listens on 127\.0\.0\.1:(\d+)", "--state-dir", self.work / "state",
            "--curator", f"127.0.0.1:{self.curator_port}", "--clients", self.work / "clients.json",
        )  # fmt: skip
        self.server = f"127.0.0.1:{self.port}"
        self.config = self._write("dpnmf.toml", "".join(f'{k} = "{v}"\n' for k, v in self.settings("alice").items()))

    def certs(self, *arguments):
        run(SOURCE / "deploy" / "certs.sh", *arguments)

    def settings(self, who):
        folder = self.work / "certs" / who
        return {
            "server": self.server,
            "ca": str(folder / "ca.crt"),
            "cert": str(folder / "tls.crt"),
            "key": str(folder / "tls.key"),
        }

    def command(self, *arguments):
        """The program `dpnmf`, as alice."""
        return run(BIN / "dpnmf", "--config", self.config, *arguments)

    def charges(self, population):
        """Charges of the population in the curator's ledger of record."""
        text = run(BIN / "dpnmf-curator", "ledger", "show", *self.directories, "--format", "json")
        rows = json.loads(text)["rows"]
        return sum(r["kind"] == "charge" and r["population"] == population for r in rows)

    def import_with(self, *arguments):
        return run(BIN / "dpnmf-curator", "import", *arguments, *self.directories)

    def _import(self):
        np.savetxt(self.work / "people.csv", people(), fmt="%d", delimiter=",")
        names = self._write("names.txt", "".join(f"name {d}\n" for d in range(8)))
        self.import_with(
            "--name", "people", "--population", "group", "--input", self.work / "people.csv", "--users", "rows",
            "--features", names, "--epsilon", 200, "--delta", 1e-6,
        )  # fmt: skip
        weights = self._write("weights.txt", "".join(f"name {d},{1 + d / 4}\n" for d in range(8)))
        self.import_with(
            "--name", "weighted", "--population", "group", "--input", self.work / "people.csv", "--users", "rows",
            "--features", names, "--feature-weights", weights, "--epsilon", 200, "--delta", 1e-6,
        )  # fmt: skip
        labels = ["even" if n % 2 == 0 else "odd" for n in range(200)]
        rows = [",".join([*map(str, row), label]) for row, label in zip(people(200), labels)]
        self._write("labelled.csv", "".join(row + "\n" for row in rows))
        self.import_with(
            "--name", "labelled", "--population", "classes", "--input", self.work / "labelled.csv", "--users", "rows",
            "--class-column", 9, "--classes", "even,odd", "--normalise", "none", "--column-bound", 10, "--range", "0,5",
            "--integers", "--epsilon", 20, "--delta", 1e-6, "--label-columns", 0,
        )  # fmt: skip
        self.import_with(
            "--name", "digits", "--population", "writers", "--input", SOURCE / "examples/digits/digits.csv.gz",
            "--users", "rows", "--epsilon", 8, "--delta", 1e-5,
        )  # fmt: skip
        ratings = SOURCE / "examples/ratings"
        self.import_with(
            "--name", "films", "--population", "viewers", "--ratings", ratings / "ratings.csv.gz",
            "--items", ratings / "items.txt", "--rating-range", "1,5", "--users-count", 2000, "--epsilon", 8,
            "--delta", 1e-5,
        )  # fmt: skip

    def _write(self, name, text):
        path = self.work / name
        path.write_text(text)
        return path

    def _start(self, who, pattern, *arguments):
        log = self.work / f"{who}.log"
        folder = self.work / "certs" / who
        files = ("--ca", folder / "ca.crt", "--cert", folder / "tls.crt", "--key", folder / "tls.key")
        command = [BIN / f"dpnmf-{who}", "serve", *arguments, *files, "--listen", "127.0.0.1:0"]
        with open(log, "w") as out:
            process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out)
        self.processes.append(process)
        for _ in range(600):
            if found := re.search(pattern, log.read_text()):
                return int(found[1])
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        raise AssertionError(log.read_text())

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.work)
