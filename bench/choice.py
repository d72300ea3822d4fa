#!/usr/bin/env python3
"""Which mechanism is best where, and what `auto` chooses: docs/research/utility.md.

  bench/choice.py [--fresh] BENCH OUTPUT [NAME=FILE ...]

BENCH: the program dpnmf_small_bench. OUTPUT: a folder for what is made on the
way (.npy files, settings.txt, choice.txt). The digits that the project ships
are always measured, and generated people; the other settings need a file:

  faces=FILE.npy     pixels x pictures (361 x n: 19 columns of 19 pixels)
  counts=FILE.csv    a row a feature; a header, two columns of names
  text=FILE.mtx.gz   terms x documents; of 1,500 documents the most used terms
  ratings=FILE       lines `user item rating time`, from 1

Settings without a file are left out, and this is said. Standard library alone.

--fresh: the settings of FRESH in place of the others. They were written down
before any of them was measured, and the rule that `auto` follows was drawn
without them.
"""
import gzip
import os
import struct
import subprocess
import sys

SEEDS, MOST_FEATURES = 3, 400  # one seed above so many features

# LAW D K N EPSILON [ORDER]
GENERATED = """
dense 10 4 100 .1
dense 10 4 1000 1
dense 64 8 100 1
dense 64 8 1000 .3
dense 64 8 1000 4
dense 64 8 10000 1
dense 64 8 100000 16
dense 300 10 300 1
dense 300 10 1000 .3
dense 300 10 3000 1
dense 300 10 10000 4
dense 2000 10 1000 1
parts 10 4 300 1
parts 10 4 10000 1
parts 64 8 100 .1
parts 64 8 300 1
parts 64 8 1000 1
parts 64 8 3000 4
parts 64 8 100000 1
parts 64 16 30000 4
parts 300 8 300 .3
parts 300 8 1000 1
parts 300 8 3000 4
parts 300 8 30000 1
parts 300 8 100000 16
parts 2000 10 3000 1
text 64 8 100 1
text 64 8 1000 .3
text 64 8 1000 4
text 64 8 30000 1
text 300 8 300 1
text 300 8 1000 1
text 300 8 3000 4
text 300 8 30000 .3
text 300 8 100000 4
text 2000 10 300 .3
text 2000 10 3000 4
images 400 10 400 1
images 400 10 400 4
images 400 10 3000 1
images 400 10 400 1 grid:20
"""
DIGITS = """
digits 64 16 300 1
digits 64 16 1797 .3
digits 64 16 1797 1
digits 64 16 1797 4
digits 64 16 1797 16
digits 64 16 20000 4
"""
FACES = """
faces 361 50 400 1
faces 361 50 2429 1
faces 361 50 2429 4
faces 361 50 2429 16
faces 361 50 2429 1 grid:19
"""
COUNTS = """
counts 96 15 300 1
counts 96 15 2780 .3
counts 96 15 2780 4
counts 96 15 100000 16
"""
TEXT = """
text1000 1000 20 9394 1
text1000 1000 20 9394 4
"""
RATINGS = """
ratings 1682 10 943 1
ratings 1682 10 943 4
"""

# No D, rank, N and epsilon of these is above, but for D and rank of real data.
FRESH = {"": """
dense 30 6 500 .5
dense 128 12 600 2
dense 128 12 2000 1
dense 128 12 20000 2
dense 500 12 5000 .5
parts 30 6 400 2
parts 30 6 4000 .3
parts 128 12 2000 .5
parts 128 12 8000 2
parts 128 24 50000 8
parts 500 20 3000 1
text 30 6 400 2
text 128 12 500 4
text 128 12 2000 1
text 128 12 8000 .3
text 500 12 5000 2
images 256 12 1000 .5
images 256 12 1000 2
images 256 12 8000 1
images 256 12 8000 8
dense 16 4 200 .5
dense 16 4 2000 2
dense 40 6 500 1
dense 40 6 5000 .2
dense 100 8 200 2
dense 100 8 700 .5
dense 100 8 5000 1
dense 100 8 50000 8
dense 200 10 2000 2
parts 16 4 200 1
parts 16 4 2000 .3
parts 40 6 500 2
parts 40 6 5000 .5
parts 40 6 50000 2
parts 100 8 200 1
parts 100 8 700 2
parts 100 8 5000 .5
parts 100 8 20000 8
parts 200 10 2000 .5
parts 200 10 20000 2
text 40 6 500 .5
text 40 6 5000 2
text 100 8 200 1
text 100 8 700 .5
text 100 8 700 4
text 100 8 5000 1
text 100 8 50000 2
text 200 10 700 2
text 200 10 5000 .3
images 100 6 200 1
images 100 6 2000 .5
images 100 6 20000 4
images 225 8 1000 2
""", "digits": """
digits 64 10 600 2
digits 64 10 5000 .5
digits 64 25 1797 8
digits 64 25 50000 1
digits 64 10 150 2
digits 64 10 600 .5
digits 64 10 600 8
digits 64 10 6000 1
""", "counts": """
counts 96 8 1000 1
counts 96 20 1000 8
counts 96 20 10000 1
counts 96 10 150 2
counts 96 10 1000 .5
counts 96 10 1000 8
""", "text": """

text1000 1000 10 3000 2
text1000 1000 10 30000 .5

""", "ratings": """

ratings 1682 5 5000 2

""", "faces": """
faces 361 20 1000 2
faces 361 25 5000 1
faces 361 25 600 8
faces 361 20 1000 8
"""}


def write_npy(path, rows):
  """rows: lists of numbers, one for each feature."""
  header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (
      len(rows), len(rows[0]))
  header += " " * (63 - (10 + len(header)) % 64) + "\n"
  with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
    file.write(header.encode())
    for row in rows:
      file.write(struct.pack("<%df" % len(row), *row))


def digits_of(path):
  with gzip.open(path, "rt") as file:
    people = [[float(x) for x in line.split(",")] for line in file]
  return [list(feature) for feature in zip(*people)]


def counts_of(path):
  with open(path) as file:
    next(file)
    return [[float(x) for x in line.rstrip().split(",")[2:]] for line in file]


def text_of(path, documents=1500, terms=1000):
  entries, used = [], {}
  with gzip.open(path, "rt") as file:
    lines = (line for line in file if not line.startswith("%"))
    every = max(1, int(next(lines).split()[1]) // documents)
    for line in lines:
      term, document, count = line.split()
      document = int(document) - 1
      used[term] = used.get(term, 0) + 1
      if document % every == 0 and document // every < documents:
        entries.append((term, document // every, float(count)))
  kept = sorted(used, key=lambda term: (-used[term], int(term)))[:terms]
  place = {term: at for at, term in enumerate(kept)}
  rows = [[0.0] * documents for _ in kept]
  for term, document, count in entries:
    if term in place:
      rows[place[term]][document] = count
  return rows


def ratings_of(path):
  with open(path) as file:
    entries = [[int(x) for x in line.split()[:3]] for line in file]
  rows = [[0.0] * max(e[0] for e in entries)
          for _ in range(max(e[1] for e in entries))]
  for user, item, rating in entries:
    rows[item - 1][user - 1] = rating
  return rows


def main():
  words = [word for word in sys.argv[1:] if word != "--fresh"]
  if len(words) < 2:
    sys.exit(__doc__)
  bench, output = words[:2]
  fresh = FRESH if "--fresh" in sys.argv else {}
  given = dict(word.split("=", 1) for word in words[2:])
  os.makedirs(output, exist_ok=True)
  root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
  given["digits"] = os.path.join(root, "examples/digits/digits.csv.gz")
  settings = [
      line.split() for line in fresh.get("", GENERATED).split("\n") if line
  ]
  for name, lines, read in (("digits", DIGITS, digits_of),
                            ("counts", COUNTS, counts_of),
                            ("text", TEXT, text_of),
                            ("ratings", RATINGS, ratings_of),
                            ("faces", FACES, None)):
    if name not in given:
      print("left out:", name, file=sys.stderr)
      continue
    path, lines = given[name], fresh.get(name, lines)
    if read is not None:
      path = os.path.join(output, lines.split()[0] + ".npy")
      write_npy(path, read(given[name]))
    settings += [[path] + line.split()[1:] for line in lines.split("\n") if line]
  with open(os.path.join(output, "settings.txt"), "w") as file:
    for law, d, k, n, epsilon, *order in settings:
      seeds = SEEDS if int(d) <= MOST_FEATURES else 1
      file.write(" ".join([law, d, k, n, epsilon, str(seeds), "0 0"] +
                          (order or ["none"])) + "\n")
  with open(os.path.join(output, "settings.txt")) as read, \
      open(os.path.join(output, "choice.txt"), "w") as write:
    done = subprocess.run([bench, "--choice"], stdin=read, stdout=write)
  sys.exit(done.returncode)


if __name__ == "__main__":
  main()
