"""For the data holder: files of other kinds as input of `dpnmf-curator import`.

Each function reads one kind of file, writes a matrix with one row for each
*person* (.npy, or .mtx if it is sparse) and, where features have names, a file
of names, and prints the import command. All is computed on this machine. What is
written is as private as what was read (mode 0600); the names become public.

Public facts must be declared, not taken from the data: the vocabulary, the list
of genes, the size of a picture, the columns of a table.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpnmf.errors import InputError, NotFoundError

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


def _finish(matrix: Any, output: Path, names: Sequence[str] | None, flags: dict[str, Any]) -> Prepared:
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
        _write(names_path, "".join(f"{name}\n" for name in names).encode())
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

    def __exit__(self, kind: Any, *unused: object) -> None:
        self._file.close()
        if kind is None:
            os.replace(self._temporary, self._path)
        else:
            os.unlink(self._temporary)


def _write(path: pathlib.Path, content: bytes) -> None:
    with _replacing(path) as file:
        file.write(content)


def _lines(source: Path | Iterable[str]) -> list[str]:
    """Lines of a file, or the texts of a list."""
    if not isinstance(source, (str, os.PathLike)):
        return list(source)
    try:
        return pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise NotFoundError("file-not-found", f"The file {source} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InputError("input-malformed", f"The file {source} is not text in UTF-8.") from None


def _declared(what: str, source: Path | Iterable[str]) -> list[str]:
    """Different, non-empty names."""
    names = [line.strip() for line in _lines(source)]
    if not names or "" in names:
        raise InputError("features-missing", f"The {what} is empty or has an empty line.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("features-mismatch", f"The {what} has '{twice}' twice.")
    return names


def _checked(values: Any, counts: bool) -> None:
    """Entries of a matrix: finite, not negative, and whole numbers of counts."""
    if not np.isfinite(values).all():
        raise InputError("input-not-finite", "An entry is missing or not finite; write a missing value as 0.")
    if (values < 0).any():
        raise InputError("input-negative", "An entry is negative; entries must be 0 or more.")
    if counts and (values != np.floor(values)).any():
        raise InputError(
            "input-not-counts",
            "An entry is not a whole number: sums over cells need counts, not logarithms or scaled values; "
            "name the layer that has them with layer=.",
        )


def h5ad(
    path: Path,
    output: Path,
    *,
    donor: str | None = None,
    layer: str | None = None,
    genes: Path | Iterable[str] | None = None,
    **flags: Any,
) -> Prepared:
    """An AnnData file of cells as counts by donor.

    A row of the file is a cell, and the guarantee is for people: the counts of
    all cells of a donor are added. donor: the column of `obs` that says whose
    cell it is. layer: where the counts are; None: X. genes: the declared list of
    genes, a file or names; None: those of the file, which must have been fixed
    without looking at these people (an annotation, not their most variable
    genes). Genes that the file lacks are 0.
    """
    import anndata
    import pandas
    import scipy.sparse

    try:
        table = anndata.read_h5ad(path)
    except OSError as error:
        raise NotFoundError("file-not-found", f"{path} is not an .h5ad file that can be read ({error}).") from None
    columns = ", ".join(map(str, table.obs.columns)) or "none"
    if donor is None:
        raise InputError(
            "donor-missing",
            f"A row of {path} is a cell, and the guarantee is for people: name the column of `obs` that says whose "
            f"cell it is with donor= (there are: {columns}).",
        )
    if donor not in table.obs.columns:
        raise InputError("columns-unknown", f"`obs` has no column '{donor}'; it has {columns}.")
    donors = table.obs[donor]
    if unknown := int(donors.isna().sum()):
        raise InputError("donor-missing", f"{unknown} cells have no {donor}; remove them or find out whose they are.")
    codes, people = pandas.factorize(donors.astype(str), sort=True)
    if len(people) == len(codes) > 1:
        raise InputError(
            "donor-missing",
            f"Every cell has a {donor} of its own, so it names cells; name the column that has one value for all "
            "cells of a person.",
        )
    if layer is not None and layer not in table.layers:
        raise InputError("columns-unknown", f"There is no layer '{layer}'; there are {', '.join(table.layers) or 'none'}.")
    cells = table.X if layer is None else table.layers[layer]
    is_sparse = scipy.sparse.issparse(cells)
    _checked(cells.data if is_sparse else np.asarray(cells), counts=True)
    by_donor = scipy.sparse.csr_matrix(
        (np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(len(people), len(codes))
    )
    counts = by_donor @ (cells.tocsr() if is_sparse else np.asarray(cells))
    names = [str(name) for name in table.var_names]
    if genes is not None:
        names, counts = _rearranged(_declared("list of genes", genes), names, scipy.sparse.csc_matrix(counts))
    _declared("list of genes", names)
    sparse = pathlib.Path(output).suffix == ".mtx"
    dense = counts if isinstance(counts, np.ndarray) else counts.toarray()
    return _finish(scipy.sparse.coo_matrix(counts) if sparse else dense, output, names, flags)


def _rearranged(wanted: list[str], names: list[str], counts: Any) -> tuple[list[str], Any]:
    import scipy.sparse

    at = {name: i for i, name in enumerate(names)}
    held = [(i, at[name]) for i, name in enumerate(wanted) if name in at]
    move = scipy.sparse.csc_matrix(
        (np.ones(len(held)), ([j for _, j in held], [i for i, _ in held])), shape=(len(names), len(wanted))
    )
    return wanted, (counts @ move).tocsr()


def table(frame: Any, output: Path, *, columns: Sequence[str], **flags: Any) -> Prepared:
    """The named columns of a pandas frame, one row for each person."""
    missing = [c for c in columns if c not in frame.columns]
    if missing:
        raise InputError("columns-unknown", f"The table has no column '{missing[0]}'.")
    names = _declared("list of columns", [str(c) for c in columns])
    try:
        values = frame[list(columns)].to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("input-not-a-number", "A named column holds something else than numbers.") from None
    _checked(values, counts=False)
    return _finish(values, output, names, flags)


def parquet(path: Path, output: Path, *, columns: Sequence[str], **flags: Any) -> Prepared:
    """The named columns of a Parquet file, one row for each person. Needs
    pyarrow, which Debian 12 does not have: this reader is not tested."""
    import pyarrow.parquet

    return table(pyarrow.parquet.read_table(path).to_pandas(), output, columns=columns, **flags)


def images(
    source: Path | Iterable[Path], output: Path, *, size: tuple[int, int], invert: bool = False, **flags: Any
) -> Prepared:
    """Pictures as rows of grey values, 0 to 255, row by row; one for each person.

    source: a directory, whose files are read in the order of their names, or
    paths. size: the declared width and height, to which all are scaled. invert:
    dark pixels get large values.
    """
    import PIL.Image

    width, height = size
    if isinstance(source, (str, os.PathLike)):
        folder = pathlib.Path(source)
        if not folder.is_dir():
            raise NotFoundError("directory-not-found", f"There is no directory {folder}.")
        paths = sorted(p for p in folder.iterdir() if p.is_file())
    else:
        paths = [pathlib.Path(p) for p in source]
    rows = np.empty((len(paths), width * height), dtype=np.uint8)
    for row, path in zip(rows, paths):
        try:
            with PIL.Image.open(path) as picture:
                grey = picture.convert("L")
        except FileNotFoundError:
            raise NotFoundError("file-not-found", f"There is no file {path}.") from None
        except OSError:
            raise InputError("input-malformed", f"{path} is not a picture that can be read.") from None
        if grey.size != (width, height):
            grey = grey.resize((width, height), PIL.Image.Resampling.BOX)
        row[:] = np.asarray(grey).ravel()
    if invert:
        np.subtract(255, rows, out=rows)
    return _finish(rows, output, None, flags)


def text(
    texts: Path | Iterable[str],
    output: Path,
    *,
    vocabulary: Path | Iterable[str],
    people: Sequence[Any] | None = None,
    **flags: Any,
) -> Prepared:
    """Counts of the words of a declared vocabulary.

    texts: a file with one text a line, or the texts. people: whose each text is;
    the counts of all texts of a person are added. None: each text is of another
    person. Words are runs of letters, digits and `_`; capitals do not count.
    """
    import scipy.sparse

    documents = _lines(texts)
    words = _declared("vocabulary", vocabulary)
    odd = next((w for w in words if re.findall(r"\w+", w.lower()) != [w.lower()]), None)
    if odd is not None:
        raise InputError("features-mismatch", f"'{odd}' in the vocabulary is not one word.")
    column = {word.lower(): d for d, word in enumerate(words)}
    if len(column) != len(words):
        raise InputError("features-mismatch", "Two words of the vocabulary differ only in capitals.")
    if people is None:
        rows = list(range(len(documents)))
    elif len(people) == len(documents):
        order = {person: n for n, person in enumerate(sorted(set(people), key=str))}
        rows = [order[person] for person in people]
    else:
        raise InputError("users-mismatch", f"There are {len(documents)} texts and {len(people)} people; give one for each.")
    places = [
        (row, column[word])
        for row, document in zip(rows, documents)
        for word in re.findall(r"\w+", document.lower())
        if word in column
    ]
    at = np.asarray(places, dtype=np.int64).reshape(-1, 2)
    counts = scipy.sparse.coo_matrix(
        (np.ones(len(at), dtype=np.int64), (at[:, 0], at[:, 1])), shape=(max(rows, default=-1) + 1, len(words))
    )
    counts.sum_duplicates()
    return _finish(counts, output, words, flags)
