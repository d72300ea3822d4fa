#!/usr/bin/python3
"""NMF by projected gradients as it is written in numpy: distort.py FILE RANK TOLERANCE REPEATS.

FILE: numbers separated by commas; the last column is a class and left out. The
algorithm is that of Lin (2007), from sizes of normal numbers, one thread. Prints
one line of JSON: processor seconds, iterations and |A - WH| of each repeat.
"""
import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import json
import sys
import time

import numpy


def projected(gradient, x):
    return numpy.linalg.norm(gradient[numpy.logical_or(gradient < 0, x > 0)])


def subproblem(v, w, h, tolerance):
    """min |V - W H| over H >= 0: H, its gradient and the iterations."""
    wtv, wtw = w.T @ v, w.T @ w
    alpha, beta = 1.0, 0.1
    for iteration in range(1, 1001):
        gradient = wtw @ h - wtv
        if projected(gradient, h) < tolerance:
            break
        for trial in range(20):
            new = numpy.maximum(h - alpha * gradient, 0)
            d = new - h
            enough = 0.99 * numpy.sum(gradient * d) + 0.5 * numpy.sum((wtw @ d) * d) < 0
            if trial == 0:
                shrink, old = not enough, h
            if shrink:
                if enough:
                    h = new
                    break
                alpha *= beta
            else:
                if not enough or numpy.array_equal(old, new):
                    h = old
                    break
                alpha /= beta
                old = new
    return h, iteration


def nmf(a, w, h, tolerance):
    first = numpy.sqrt(numpy.linalg.norm((w @ h - a) @ h.T) ** 2 + numpy.linalg.norm(w.T @ (w @ h - a)) ** 2)
    w_tolerance = h_tolerance = max(0.001, tolerance) * first
    for iteration in range(20000):
        residual = w @ h - a
        gradient = numpy.hypot(projected(residual @ h.T, w), projected(w.T @ residual, h))
        if gradient <= tolerance * first:
            break
        w, count = subproblem(a.T, h.T, w.T, w_tolerance)
        w = w.T
        if count == 1:
            w_tolerance *= 0.1
        h, count = subproblem(a, w, h, h_tolerance)
        if count == 1:
            h_tolerance *= 0.1
    return w, h, iteration


def main():
    path, rank, tolerance, repeats = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    a = numpy.loadtxt(path, delimiter=",")[:, :-1]
    runs = []
    for seed in range(repeats):
        random = numpy.random.default_rng(seed)
        w = abs(random.standard_normal((a.shape[0], rank)))
        h = abs(random.standard_normal((rank, a.shape[1])))
        begin = time.process_time()
        w, h, iterations = nmf(a, w, h, tolerance)
        runs.append([time.process_time() - begin, iterations, numpy.linalg.norm(a - w @ h)])
    print(json.dumps(runs))


main()
