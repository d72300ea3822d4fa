"""Non-negative least squares for many people at once."""

from __future__ import annotations

import numpy as np

from dpnmf.results import Matrix

_SWEEPS = 300  # as `dpnmf transform`
_CLOSE = 1e-12


def normalised(people: Matrix, unit_length: bool, bound: float, weights: Matrix | None = None) -> Matrix:
    """Rows weighted and scaled as the columns of the data set were at import
    (docs/reference/formats.md)."""
    if weights is not None:
        people = people * weights
    lengths = np.sqrt(np.einsum("nd,nd->n", people, people))
    most = 1.0 if unit_length else bound
    scale = np.ones_like(lengths)
    chosen = (lengths > 0) if unit_length else (lengths > most)
    scale[chosen] = most / lengths[chosen]
    return np.asarray(people * scale[:, None])


def least_squares(people: Matrix, components: Matrix) -> Matrix:
    """H >= 0, N x K, that minimises |people - H components| by coordinate
    descent. people: N x D; components: K x D."""
    gram = components @ components.T
    target = components @ people.T  # K x N
    h = np.zeros_like(target)
    for _ in range(_SWEEPS):
        largest = 0.0
        for k in range(len(gram)):
            if gram[k, k] <= 0:
                continue
            moved = np.maximum(0.0, h[k] + (target[k] - gram[k] @ h) / gram[k, k])
            largest = max(largest, float(np.abs(moved - h[k]).max(initial=0.0)))
            h[k] = moved
        if largest <= _CLOSE * (1.0 + float(h.max(initial=0.0))):
            break
    return np.ascontiguousarray(h.T)
