"""Matrices on the wire: chunks of 32,768 entries, column after column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpnmf.errors import DamagedError
from dpnmf.results import Matrix
from dpnmf.v1 import matrix_pb2

_CHUNK = 32_768
_MOST_ROWS = 1 << 32
_MOST_COLUMNS = 1 << 16


def malformed() -> DamagedError:
    return DamagedError("model-malformed", "The server's answer is incomplete; ask again.")


class Reader:
    """Gathers the chunks of one matrix."""

    def __init__(self, rows: int, columns: int, by_rows: bool = False) -> None:
        if not (1 <= rows <= _MOST_ROWS and 1 <= columns <= _MOST_COLUMNS):
            raise malformed()
        self._shape = (rows, columns)
        self._order = "C" if by_rows else "F"
        self._total = rows * columns
        self._pieces: list[npt.NDArray[np.float64]] = []
        self._next = 0

    @property
    def complete(self) -> bool:
        return self._next == self._total

    def add(self, chunk: Any) -> None:
        size = len(chunk.values)
        if chunk.offset != self._next or not 1 <= size <= min(_CHUNK, self._total - self._next):
            raise malformed()
        self._pieces.append(np.fromiter(chunk.values, np.float64, size))
        self._next += size

    def take(self) -> Matrix:
        if not self.complete:
            raise malformed()
        flat = np.concatenate(self._pieces)
        return flat.reshape(self._shape, order="C" if self._order == "C" else "F")


def chunks(matrix: Matrix) -> Iterator[matrix_pb2.RealChunk]:
    flat = np.asarray(matrix, dtype=np.float64).ravel(order="F")
    for offset in range(0, flat.size, _CHUNK):
        yield matrix_pb2.RealChunk(offset=offset, values=flat[offset : offset + _CHUNK].tolist())
