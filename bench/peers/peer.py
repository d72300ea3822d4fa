#!/usr/bin/python3
"""One run of a peer: peer.py sklearn|gensim FILE RANK ROUNDS [SEED].

Columns of the file are people; each is scaled to length 1. Prints one line of
JSON: seconds of the fit, objective 1/(2N) |V - WH|^2, peak memory in MB (of the
whole process) and what it was before the fit.
"""
import json
import resource
import sys
import time
import warnings

import numpy
import scipy.io
import scipy.sparse


def load(path):
    """V' (N x D), rows of length 1, float64."""
    if path.endswith(".npy"):
        v = numpy.load(path).astype(numpy.float64)
        lengths = numpy.linalg.norm(v, axis=0)
        lengths[lengths == 0] = 1
        return numpy.ascontiguousarray((v / lengths).T)
    v = scipy.io.mmread(path).tocsc().astype(numpy.float64)
    lengths = numpy.sqrt(numpy.asarray(v.multiply(v).sum(axis=0)).ravel())
    lengths[lengths == 0] = 1
    return scipy.sparse.csr_matrix((v @ scipy.sparse.diags(1 / lengths)).T)


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def objective(x, h, w):
    """1/(2N) |X - H W|^2 without forming H W."""
    if scipy.sparse.issparse(x):
        squares, cross = x.multiply(x).sum(), (x @ w.T * h).sum()
    else:
        squares, cross = (x * x).sum(), (x @ w.T * h).sum()
    return float(squares - 2 * cross + ((h.T @ h) * (w @ w.T)).sum()) / (2 * x.shape[0])


def sklearn_fit(x, rank, rounds, seed):
    from sklearn.decomposition import NMF
    model = NMF(rank, max_iter=rounds, tol=0, random_state=seed)
    start = time.perf_counter()
    h = model.fit_transform(x)
    return time.perf_counter() - start, objective(x, h, model.components_)


def gensim_fit(x, rank, rounds, seed):
    """The objective is that of the best H for gensim's W, found off the clock."""
    import gensim
    from sklearn.decomposition import non_negative_factorization
    corpus = gensim.matutils.Sparse2Corpus(scipy.sparse.csc_matrix(x.T))
    start = time.perf_counter()
    model = gensim.models.nmf.Nmf(
        corpus, num_topics=rank, passes=rounds, random_state=seed,
        id2word={i: str(i) for i in range(x.shape[1])}, normalize=False,
        minimum_probability=0, eval_every=None)
    seconds = time.perf_counter() - start
    w = model._W
    w = (w.toarray() if scipy.sparse.issparse(w) else numpy.asarray(w)).T
    w = numpy.ascontiguousarray(w, dtype=numpy.float64)
    h, _, _ = non_negative_factorization(
        x, H=w, n_components=rank,
        update_H=False, max_iter=200, tol=1e-6, random_state=seed)
    return seconds, objective(x, h, w)


def main():
    warnings.simplefilter("ignore")
    peer, path, rank, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    x = load(path)
    before = megabytes()
    fit = {"sklearn": sklearn_fit, "gensim": gensim_fit}[peer]
    seconds, value = fit(x, rank, rounds, seed)
    print(json.dumps({"seconds": seconds, "objective": value,
                      "megabytes": megabytes(), "megabytes_before": before}))


main()
