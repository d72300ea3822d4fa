"""The files that are written, and the command that imports them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, Union

import numpy as np

from dpnmf.errors import InputError, NotFoundError, UnavailableError

Path = Union[str, os.PathLike[str]]  # an alias is evaluated: no | in Python 3.9

_PLACEHOLDERS = {"name": "NAME", "population": "POPULATION", "epsilon": "EPSILON", "delta": "DELTA", "data_dir": "DIR"}

# Headers of lists: item_id, Gene Name, hgnc.symbol.
_HEADER = re.compile(
    r".*ids?|.*names?|.*symbols?|.*genes?|0|x|v1|ensembl|hgnc|hugo|identifier|probe|vocabulary"
    r"|(column|feature|item|label|term|title|token|variable|word)s?"
)


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
            file.write(_lines_of(names).encode())
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


def _lines_of(names: Sequence[str]) -> str:
    """A list of names; below a header and in quotes if an import could take its first
    name for a header or a comment, or one of them for several fields."""
    if (
        _HEADER.fullmatch(names[0].lower())
        or names[0].startswith("#")
        or names[-1].isdecimal()
        or any(mark in name for name in names for mark in ',;"')
    ):
        names = ["feature"] + ['"' + name.replace('"', '""') + '"' for name in names]
    return "".join(f"{name}\n" for name in names)


@contextlib.contextmanager
def _replacing(path: pathlib.Path) -> Iterator[IO[bytes]]:
    """A file that replaces `path` when all of it is written; mode 0600."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    except OSError as error:
        raise NotFoundError("directory-not-found", f"{path} cannot be written ({error.strerror}).") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise UnavailableError("storage-failed", f"{path} cannot be written ({error.strerror}).") from None
        raise
