#!/usr/bin/python3
"""generate.py DIRECTORY: stand-ins for the two files of run.sh where these are
absent. dense.npy: 361 x 2,429 of rank 50 and noise. sparse.mtx: 36,771 x 9,394
with about 130 words a column, by 30 topics over words of Zipf's frequencies."""
import os
import sys

import numpy
import scipy.io
import scipy.sparse

random = numpy.random.default_rng(1)
directory = sys.argv[1]

w = random.gamma(0.3, size=(361, 50))
h = random.gamma(0.3, size=(50, 2429))
numpy.save(os.path.join(directory, "dense.npy"),
           (w @ h + 0.3 * random.random((361, 2429))).astype(numpy.float32))

features, users, topics = 36771, 9394, 30
base = 1 / numpy.arange(1, features + 1)
cumulative = numpy.cumsum(numpy.stack(
    [base * random.gamma(0.1, size=features) for _ in range(topics)]), axis=1)
rows, columns = [], []
for user in range(users):
    topic = cumulative[random.integers(topics)]
    words = numpy.searchsorted(topic, random.random(180) * topic[-1])
    rows.append(words)
    columns.append(numpy.full(180, user))
rows, columns = numpy.concatenate(rows), numpy.concatenate(columns)
counts = scipy.sparse.coo_matrix(
    (numpy.ones(rows.size), (rows, columns)), shape=(features, users)).tocsc()
scipy.io.mmwrite(os.path.join(directory, "sparse.mtx"), counts.tocoo(), field="integer")
