#!/usr/bin/python3
"""The methods of `dpnmf-lab complete` as one writes them in numpy.

complete_peer.py RATINGS: lines of user, item, rating. Full matrices with a mask,
as the publication's formulas read; one line of JSON with the least processor seconds
of several repeats.
"""
import json
import sys
import time

import numpy


def load(path):
    people, items, cells = {}, {}, []
    with open(path) as lines:
        for line in lines:
            user, item, rating = line.replace(",", " ").split()[:3]
            cells.append((people.setdefault(user, len(people)),
                          items.setdefault(item, len(items)), float(rating)))
    r = numpy.zeros((len(people), len(items)))
    w = numpy.zeros_like(r)
    for i, j, rating in cells:
        r[i, j], w[i, j] = rating, 1
    return r, w


def least(repeats, work):
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def aux_nmf(r, w, c, u, s, v, alpha, gamma, rounds):
    for _ in range(rounds):
        vs = v @ s.T
        u = u * (alpha * r @ vs) / (alpha * (w * (u @ vs.T)) @ vs + 1e-12)
        us = u @ s
        v = v * (alpha * r.T @ us + gamma * c) / (
            alpha * (w * (us @ v.T)).T @ us + gamma * v + 1e-12)
        s = s * (u.T @ r @ v) / (u.T @ (w * (u @ s @ v.T)) @ v + 1e-12)
        alpha * ((w * (r - u @ s @ v.T)) ** 2).sum() + gamma * ((v - c) ** 2).sum()
    return u, s, v


def new_rows(t, w, x, basis, alpha, rounds):
    for _ in range(rounds):
        x = x * (alpha * t @ basis) / (alpha * (w * (x @ basis.T)) @ basis + 1e-12)
        ((w * (t - x @ basis.T)) ** 2).sum()
    return x


def randomised_svd(a, rank, generator, power=4):
    q = numpy.linalg.qr(a @ generator.standard_normal((a.shape[1], rank + 10)))[0]
    for _ in range(power):
        q = numpy.linalg.qr(a.T @ q)[0]
        q = numpy.linalg.qr(a @ q)[0]
    u, s, vt = numpy.linalg.svd(q.T @ a, full_matrices=False)
    return q @ u[:, :rank], s[:rank], vt[:rank].T


def svd_update(u, s, v, t):
    p = t @ v
    q, l = numpy.linalg.qr((t - p @ v.T).T)
    k, n = len(s), len(t)
    f = numpy.block([[numpy.diag(s), numpy.zeros((k, n))], [p, l.T]])
    fu, fs, fvt = numpy.linalg.svd(f)
    left = numpy.block([[u, numpy.zeros((len(u), n))],
                        [numpy.zeros((n, k)), numpy.eye(n)]])
    return left @ fu[:, :k], fs[:k], numpy.hstack([v, q]) @ fvt[:k].T


def main():
    r, w = load(sys.argv[1])
    generator = numpy.random.default_rng(1)
    m, n = r.shape
    u, s, v = generator.random((m, 7)), generator.random((7, 7)), generator.random((n, 7))
    c = numpy.eye(7)[generator.integers(0, 7, n)]
    means = numpy.where(w.any(0), r.sum(0) / numpy.maximum(w.sum(0), 1), r.sum() / w.sum())
    full = numpy.where(w > 0, r, means)
    basis = v @ s.T
    first = randomised_svd(full[:-100], 13, generator)
    print(json.dumps({
        "aux_nmf": least(5, lambda: aux_nmf(r, w, c, u, s, v, .2, .8, 10)),
        "update": least(10, lambda: new_rows(r[-100:], w[-100:], u[-100:], basis, .2, 10)),
        "svd": least(5, lambda: randomised_svd(full, 13, generator)),
        "svd_full": least(1, lambda: numpy.linalg.svd(full, full_matrices=False)),
        "svd_update": least(5, lambda: svd_update(*first, full[-100:])),
    }))


main()
