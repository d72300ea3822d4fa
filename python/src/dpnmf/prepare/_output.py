"""The files that are written, and the command that imports them."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpnmf.errors import InputError, NotFoundError, UnavailableError

Path = str | os.PathLike[str]

_PLACEHOLDERS = {"name": "NAME", "population": "POPULATION", "epsilon": "EPSILON", "delta": "DELTA", "data_dir": "DIR"}


@dataclasses.dataclass(frozen=True)
class Prepared:
    """The files for an import."""

    path: pathlib.Path
    people: int  # N
    features: int  # D
    names: pathlib.Path | None = None  # one feature a line

    def command(self, **flags: Any) -> str:
        """The command that imports the files. Flags: name, population, epsilon,
        delta and data_dir, and others of `dpnmf-curator import --help`; what is
        not given stands in capitals."""
        words: list[str] = ["dpnmf-curator", "import", "--input", str(self.path), "--users", "rows"]
        if self.names is not None:
            words += ["--features", str(self.names)]
        for name, value in {**_PLACEHOLDERS, **flags}.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(words)


def finish(matrix: Any, output: Path, names: Sequence[str] | None, flags: dict[str, Any]) -> Prepared:
    """Writes a dense array (.npy) or a scipy matrix (.mtx), people in rows."""
    path = pathlib.Path(output)
    sparse = not isinstance(matrix, np.ndarray)
    if path.suffix != (".mtx" if sparse else ".npy"):
        raise InputError("file-type-unknown", f"`output` must end in {'.mtx' if sparse else '.npy'}, and {path} does not.")
    if 0 in matrix.shape:
        raise InputError("input-empty", "There is no person or no feature.")
    names_path = None
    if names is not None:
        names_path = path.with_suffix(".names.txt")
        with _replacing(names_path) as file:
            file.write("".join(f"{name}\n" for name in names).encode())
    with _replacing(path) as file:
        if sparse:
            entries = matrix.tocoo()
            file.write(b"%%MatrixMarket matrix coordinate integer general\n")
            file.write(f"{matrix.shape[0]} {matrix.shape[1]} {entries.nnz}\n".encode())
            rows = np.column_stack([entries.row + 1, entries.col + 1, entries.data])
            np.savetxt(file, rows, fmt="%d")
        else:
            np.save(file, matrix)
    prepared = Prepared(path, matrix.shape[0], matrix.shape[1], names_path)
    print(f"wrote {path}: {prepared.people} people, {prepared.features} features. Import it with\n")
    print(f"  {prepared.command(**flags)}\n")
    return prepared


class _replacing:
    """A file that replaces `path` when all of it is written; mode 0600."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        try:
            descriptor, self._temporary = tempfile.mkstemp(dir=path.parent)
        except OSError as error:
            raise NotFoundError("directory-not-found", f"{path} cannot be written ({error.strerror}).") from None
        self._file = os.fdopen(descriptor, "wb")

    def __enter__(self) -> Any:
        return self._file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self._file.close()
            if kind is None:
                os.replace(self._temporary, self._path)
                return
        except OSError as last:
            error = last
        os.unlink(self._temporary)
        if isinstance(error, OSError):
            raise UnavailableError("storage-failed", f"{self._path} cannot be written ({error.strerror}).") from None
