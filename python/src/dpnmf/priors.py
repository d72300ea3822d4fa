"""Public knowledge that W is fitted with (docs/reference/prior.md). It costs nothing and
changes no charge. Nothing protects the people in a prior."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpnmf import _matrices
from dpnmf.errors import InputError
from dpnmf.results import Matrix, Run
from dpnmf.v1 import analyst_pb2

_MOST_NAME_BYTES = 1 << 20  # of a message


class Prior:
    """One prior. A bare matrix means `Prior.people`, a run means `Prior.run`."""

    def __init__(self, header: analyst_pb2.Prior, names: Sequence[str], entries: Matrix | None) -> None:
        self.header = header
        self._names = list(names)
        self._entries = entries

    @classmethod
    def people(cls, X: Any, names: Sequence[str] | None = None) -> Prior:
        """Public people, a row each: people x features. `names`: of the features;
        those of a data frame's columns are taken. Features are matched by name
        where the data set has names, too."""
        columns = getattr(X, "columns", None)
        if names is None and columns is not None and all(isinstance(c, str) for c in columns):
            names = list(columns)
        if hasattr(X, "tocoo"):
            return cls._sparse(X.tocoo(), names)
        return cls._matrix(analyst_pb2.PRIOR_KIND_COLUMNS, _numbers(X, "people").T, names)

    @classmethod
    def parts(cls, components: Any, names: Sequence[str] | None = None) -> Prior:
        """Parts, a row each, as `components_` has them: L x features."""
        return cls._matrix(analyst_pb2.PRIOR_KIND_DICTIONARY, _numbers(components, "parts").T, names)

    @classmethod
    def moment(cls, G: Any, names: Sequence[str] | None = None) -> Prior:
        """A second moment: features x features."""
        g = _numbers(G, "moment", negative=True)
        if g.shape[0] != g.shape[1]:
            raise InputError("prior-shape-invalid", "A second moment must be square.")
        return cls._matrix(analyst_pb2.PRIOR_KIND_MOMENT, g, names)

    @classmethod
    def run(cls, run: Run | str) -> Prior:
        """The release of an earlier run of moments at the same analyst."""
        run_id = run.run_id if isinstance(run, Run) else run.removeprefix("run:")
        header = analyst_pb2.Prior(kind=analyst_pb2.PRIOR_KIND_RUN, run_id=run_id, source=run_id)
        return cls(header, (), None)

    @classmethod
    def _matrix(cls, kind: Any, entries: Matrix, names: Sequence[str] | None) -> Prior:
        header = analyst_pb2.Prior(kind=kind, source="python")
        header.shape.rows, header.shape.columns = entries.shape
        return cls(header, names or (), entries)._announced()

    @classmethod
    def _sparse(cls, people: Any, names: Sequence[str] | None) -> Prior:
        people.sum_duplicates()
        kept = people.data != 0
        values = _checked(np.asarray(people.data[kept], dtype=np.float64), "people", negative=False)
        header = analyst_pb2.Prior(kind=analyst_pb2.PRIOR_KIND_COLUMNS, source="python", sparse=True)
        header.shape.columns, header.shape.rows = people.shape
        header.nonzeros = len(values)
        if len(values) == 0:
            raise InputError("prior-shape-invalid", "The people of a prior have no entry above 0.")
        triples = np.column_stack([people.col[kept], people.row[kept], values]).astype(np.float64)
        return cls(header, names or (), triples)._announced()

    def _announced(self) -> Prior:
        """With the digest of what will be sent (common/wire/prior.h)."""
        assert self._entries is not None
        if self._names and len(self._names) != self.header.shape.rows:
            raise InputError(
                "prior-shape-invalid",
                f"`names` has {len(self._names)} names and the prior {self.header.shape.rows} features.",
            )
        digest = hashlib.sha256(len(self._names).to_bytes(8, "little"))
        for name in self._names:
            digest.update(len(name.encode()).to_bytes(8, "little") + name.encode())
        for size in self._entries.shape:
            digest.update(size.to_bytes(8, "little"))
        digest.update(np.asarray(self._entries, dtype="<f8").tobytes(order="F"))
        self.header.sha256 = digest.digest()
        self.header.named = bool(self._names)
        return self

    def messages(self, request: Any) -> Iterator[Any]:
        """What follows the request; `request` is the type of its messages."""
        if self._entries is None:
            return
        names = analyst_pb2.PriorFeatures()
        size = 0
        for at, name in enumerate(self._names):
            names.names.append(name)
            size += len(name.encode()) + 2
            if size >= _MOST_NAME_BYTES or at + 1 == len(self._names):
                yield request(prior_features=names)
                names, size = analyst_pb2.PriorFeatures(), 0
        for chunk in _matrices.chunks(self._entries):
            yield request(prior=chunk)


def priors_of(given: Any) -> list[Prior]:
    """`given` as an option has it: None, one prior, or a list of them."""
    if given is None:
        return []
    many = given if isinstance(given, (list, tuple)) else [given]
    return [_prior_of(one) for one in many]


def _prior_of(given: Any) -> Prior:
    if isinstance(given, Prior):
        return given
    if isinstance(given, Run):
        return Prior.run(given)
    if isinstance(given, str):
        if given.startswith("run:"):
            return Prior.run(given)
        raise InputError(
            "prior-kind-unknown",
            f"`prior` is {given!r}; give a matrix of public people, a Prior, a Run, or 'run:ID'.",
        )
    return Prior.people(given)


def _numbers(values: Any, what: str, negative: bool = False) -> Matrix:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("prior-not-finite", f"The {what} of a prior must be a matrix of numbers.") from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError("prior-shape-invalid", f"The {what} of a prior must be a matrix with entries.")
    return _checked(matrix, what, negative)


def _checked(values: Matrix, what: str, negative: bool) -> Matrix:
    if not np.isfinite(values).all():
        raise InputError("prior-not-finite", f"The {what} of a prior must be finite.")
    if not negative and (values < 0).any():
        raise InputError("prior-negative", f"The {what} of a prior must not be negative.")
    return values
