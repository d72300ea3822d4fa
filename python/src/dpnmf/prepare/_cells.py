"""Counts of genes in cells, added up by donor: .h5ad files and those of 10x."""

from __future__ import annotations

import csv
import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dpnmf.errors import InputError, NotFoundError
from dpnmf.prepare import _hdf5
from dpnmf.prepare._input import (
    cleaned,
    counted,
    declared,
    examples,
    is_path,
    lines,
    needed,
    numbered,
    problem,
    reading,
    repeated,
    report_missing,
)
from dpnmf.prepare._output import Path, Prepared, finish

# An id of Ensembl or RefSeq with its version, which changes with each release of
# the annotation. Names such as RP11-34P13.7 have no version: 34P13.8 is another gene.
_VERSIONED = re.compile(r"((?:ENS[A-Z]*|[NX][MR]_)\d+)\.\d+")
# A name as scanpy's var_names_make_unique writes that of a gene for the second time.
_AGAIN = re.compile(r"(.+)-\d+")
_INDEX = "_index"  # the index of `var`; anndata allows no column of this name
_EXPRESSION = "Gene Expression"  # type of a feature of 10x


def h5ad(
    path: Path,
    output: Path,
    *,
    donor: str | None = None,
    layer: str | None = None,
    genes: Path | Iterable[str] | None = None,
    gene_column: str | None = None,
    **flags: Any,
) -> Prepared:
    """An AnnData file of cells as counts by donor.

    A row of the file is a cell, and the guarantee is for people: the counts of
    all cells of a donor are added. donor: the column of `obs` that says whose
    cell it is. layer: where the counts are, "raw" for raw.X; None: X, or raw.X
    if X holds no counts. genes: the declared list of genes, a file or names;
    None: those of the file, which must have been fixed without looking at these
    people (an annotation, not their most variable genes). Genes that the file
    lacks are 0. gene_column: the column of `var` with the names; None: "_index".
    """
    h5py = needed("h5py", "python3-h5py")
    with reading(path, "an .h5ad file"), h5py.File(path) as file:
        if "obs" not in file or "var" not in file:
            raise InputError("input-malformed", f"{path} has no `obs` and `var`; prepare.tenx reads .h5 files of 10x.")
        columns = _hdf5.columns(file["obs"])
        listed = ", ".join(columns) or "none"
        if donor is None:
            raise InputError(
                "donor-missing",
                f"A row of {path} is a cell, and the guarantee is for people: name the column of `obs` that says whose "
                f"cell it is with donor= (there are: {listed}).",
            )
        if donor not in columns:
            raise InputError("columns-unknown", f"`obs` has no column '{donor}'; it has {listed}.")
        donors = _hdf5.column(file, "obs", donor)
        cells, var = _counts(file, layer)
        names = {_INDEX: [str(name) for name in _hdf5.column(file, var, None)]}
        names |= {name: _hdf5.column(file, var, name) for name in _hdf5.columns(file[var])}
    if cells.shape != (len(donors), len(names[_INDEX])):
        raise InputError(
            "input-malformed",
            f"{path} has {len(donors):,} entries in '{donor}', {counted(len(names[_INDEX]), 'gene')}, and a matrix of "
            f"{cells.shape[0]:,} cells and {cells.shape[1]:,} genes.",
        )
    names = {name: held for name, held in names.items() if held and all(isinstance(one, str) for one in held)}
    counts = _added_up(cells, donors, donor)
    return _finish(counts, names, genes, gene_column or _INDEX, output, flags)


def _counts(file: Any, layer: str | None) -> tuple[Any, str]:
    """The matrix of counts, and the table of its genes."""
    layers = {name: (f"layers/{name}", "var") for name in file.get("layers", ())}
    raw = ("raw.X", "raw.var") if "raw.X" in file else ("raw/X", "raw/var")  # before and since anndata 0.7
    unnamed = {name: place for name, place in (("X", ("X", "var")), ("raw", raw)) if _hdf5.has_matrix(file, place[0])}
    listed = ", ".join(layers) or "none"
    if layer is not None and layer not in unnamed | layers:
        raise InputError("columns-unknown", f"There is no layer '{layer}'; there are {listed}.")
    wrong: tuple[str, str] | None = None
    for name, (place, var) in (unnamed if layer is None else {layer: (unnamed | layers)[layer]}).items():
        matrix = _hdf5.matrix(file, place)
        found = problem(matrix, name, counts=True)
        if found is None:
            if layer is None and name == "raw":
                print(f"{wrong[1] if wrong else 'The file has no X'}; counts are read from raw.X.")
            return matrix, var
        wrong = wrong or found
    named = "one of its layers" if wrong is None else "the layer that has counts"
    advice = f"; name {named} with layer= (there are: {listed})" if layers and layer is None else ""
    if wrong is None:
        raise InputError("input-not-counts", f"The file has no X{advice}.")
    raise InputError(wrong[0], f"{wrong[1]}{advice}.")


def tenx(
    path: Path,
    output: Path,
    *,
    donors: Path | Mapping[str, Any],
    genes: Path | Iterable[str] | None = None,
    gene_column: str | None = None,
    **flags: Any,
) -> Prepared:
    """Counts of 10x Genomics' Cell Ranger, added up by donor.

    path: an .h5 file, or a folder with matrix.mtx, barcodes.tsv and features.tsv
    (or genes.tsv), each perhaps with .gz. donors: whose cells they are, a CSV or
    TSV file with a barcode and a donor on each line, or a mapping; cells that it
    does not name are left out. genes: as of `h5ad`; None: all features of the
    type Gene Expression. gene_column: "gene_ids" (None) or "gene_symbols".
    """
    barcodes, names, cells = _tenx_folder(path) if is_path(path) and os.path.isdir(path) else _tenx_h5(path)
    types = names.pop("types")
    if cells.shape != (len(barcodes), len(types)):
        raise InputError(
            "input-malformed",
            f"{path} has {counted(len(barcodes), 'barcode')} and {counted(len(types), 'feature')}, and a matrix of "
            f"{cells.shape[0]:,} cells and {cells.shape[1]:,} features.",
        )
    if (twice := repeated(barcodes)) is not None:
        raise InputError("input-duplicate", f"{path} has the barcode {twice} twice, so donors= cannot say whose it is.")
    if (wrong := problem(cells, "The matrix", counts=True)) is not None:
        raise InputError(wrong[0], f"{wrong[1]}.")
    whose = _donor_table(donors, set(barcodes))
    kept = [i for i, barcode in enumerate(barcodes) if barcode in whose]
    if not kept:
        raise InputError(
            "donor-missing",
            f"No barcode of donors= ({examples(list(whose))}) is in {path} ({examples(barcodes)}); write them alike.",
        )
    if left := len(barcodes) - len(kept):
        print(f"{left:,} of {counted(len(barcodes), 'cell')} are not in donors= and are left out.")
    counts = _added_up(cells[kept], [whose[barcodes[i]] for i in kept], "donor")
    expressed = [i for i, kind in enumerate(types) if kind == _EXPRESSION]
    if genes is None and (left := len(types) - len(expressed)):
        print(f"{left:,} of {counted(len(types), 'feature')} are not of the type {_EXPRESSION} and are left out.")
        names = {name: [held[i] for i in expressed] for name, held in names.items()}
        counts = counts[:, expressed]
    return _finish(counts, names, genes, gene_column or "gene_ids", output, flags)


_Tenx = tuple[list[str], dict[str, list[str]], Any]  # barcodes; ids, symbols and types of features; cells x features


def _tenx_h5(path: Path) -> _Tenx:
    h5py = needed("h5py", "python3-h5py")
    with reading(path, "an .h5 file of 10x"), h5py.File(path) as file:
        groups = [group for group in file.values() if isinstance(group, h5py.Group) and "barcodes" in group]
        if "obs" in file or len(groups) != 1:
            found = counted(len(groups), "matrix", "matrices")
            raise InputError(
                "input-malformed", f"{path} has {found} of 10x; one is needed, and prepare.h5ad reads .h5ad files."
            )
        (group,) = groups
        places = {"gene_ids": "features/id", "gene_symbols": "features/name", "types": "features/feature_type"}
        if "features" not in group:  # Cell Ranger before 3
            places = {"gene_ids": "genes", "gene_symbols": "gene_names"}
        names = {name: _hdf5.values(file, group[place]) for name, place in places.items()}
        barcodes = _hdf5.values(file, group["barcodes"])
        cells = _hdf5.sparse(group, "csr", group["shape"][()][::-1])  # features x cells by columns
    return barcodes, {"types": [_EXPRESSION] * len(names["gene_ids"])} | names, cells


def _tenx_folder(path: Path) -> _Tenx:
    folder, scipy_io = pathlib.Path(path), needed("scipy.io", "python3-scipy")

    def found(*names: str) -> pathlib.Path:
        paths = [path for name in names for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
        if len(paths) != 1:
            wanted = " or ".join((*names, f"{names[0]}.gz"))
            raise NotFoundError("file-not-found", f"{folder} has {counted(len(paths), 'file')} {wanted}; one is needed.")
        return paths[0]

    matrix, barcodes, features = found("matrix.mtx"), found("barcodes.tsv"), found("features.tsv", "genes.tsv")
    with reading(matrix, "a Matrix Market file"):
        cells = scipy_io.mmread(matrix).T.tocsr()
    rows = [line.split("\t") for line in lines("list of features", features)]
    names = {
        "gene_ids": [row[0] for row in rows],
        "gene_symbols": [row[1] if len(row) > 1 else row[0] for row in rows],
        "types": [row[2] if len(row) > 2 else _EXPRESSION for row in rows],
    }
    return lines("list of barcodes", barcodes), names, cells


def _donor_table(donors: Path | Mapping[str, Any], barcodes: set[str]) -> dict[str, Any]:
    """The donor of each barcode."""
    if not is_path(donors):
        if not isinstance(donors, Mapping):
            raise InputError("input-malformed", f"`donors` is a {type(donors).__name__}; give a file or a dict.")
        return dict(donors)
    content = lines("table of donors", donors)
    delimiter = next((mark for mark in "\t;" if content and mark in content[0]), ",")
    with reading(donors, "a table"):
        rows = list(csv.reader(content, delimiter=delimiter, strict=True))
    if rows and len(rows[0]) > 2 and rows[0][1].strip() not in ("donor", "donor_id"):
        raise InputError(
            "input-ambiguous",
            f"{donors} has {len(rows[0])} columns; leave the barcode and the donor, or call the second one donor_id.",
        )
    whose: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) < 2:
            raise InputError("input-ragged", f"Line {number} of {donors} is not a barcode and a donor.")
        barcode, donor = row[0].strip(), row[1]
        if number == 1 and barcode not in barcodes:
            continue  # a header
        if barcode in whose:
            raise InputError("input-duplicate", f"Line {number} of {donors} has the barcode {barcode} again.")
        whose[barcode] = donor
    return whose


def _added_up(cells: Any, donors: list[Any], role: str) -> Any:
    """The counts of people, one in a row (csr), from cells in rows. role: what the
    cells call their donor."""
    codes = numbered(donors, "donor-missing", "cell", role)
    if len(set(codes)) == len(codes) > 1:
        raise InputError(
            "donor-missing",
            f"Every cell has a {role} of its own, so it names cells; name the column that has one value for all "
            "cells of a person.",
        )
    csr_matrix = needed("scipy.sparse", "python3-scipy").csr_matrix
    return csr_matrix(csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes))))) @ cells)


def _finish(
    counts: Any,
    names: dict[str, list[str]],
    genes: Path | Iterable[str] | None,
    gene_column: str,
    output: Path,
    flags: dict[str, Any],
) -> Prepared:
    """Writes the counts of the declared genes. names: those of the counts, in each
    nomenclature of the file."""
    if gene_column not in names:
        raise InputError(
            "columns-unknown", f"'{gene_column}' is no column of names without gaps; such columns are: {', '.join(names)}."
        )
    held = [cleaned(name) for name in names[gene_column]]
    if genes is None:
        if (twice := repeated(held)) is not None:
            raise _twice(twice, held, names)
        wanted = declared("list of genes", held)
        if renamed := _renamed(held, set()):
            print(f"{counted(len(renamed), 'name looks', 'names look')} like a gene that is there again: "
                  f"{examples(list(renamed))}; each counts as a gene of its own.")
    else:
        wanted = declared("list of genes", genes)
        counts = _arranged(counts, wanted, held, names)
    sparse = pathlib.Path(output).suffix == ".mtx"
    return finish(counts if sparse else counts.toarray(), output, wanted, flags)


def _twice(gene: str, held: list[str], names: dict[str, list[str]]) -> InputError:
    """No column of a gene that is there twice may be lost."""
    unique = [name for name, column in names.items() if column != held and repeated(column) is None]
    advice = f", or use other names with gene_column= (there are: {', '.join(unique)})" if unique else ""
    return InputError("features-mismatch", f"The gene '{gene}' is there twice; make the names unique{advice}.")


def _renamed(held: list[str], wanted: set[str]) -> dict[str, str]:
    """Names that a program gave to a gene that is there again (MATR3-1 beside MATR3), and the gene. Names that are
    wanted themselves are genes."""
    known = set(held)
    found = ((name, again[1]) for name in held if name not in wanted and (again := _AGAIN.fullmatch(name)))
    return {name: gene for name, gene in found if gene in known and f"{gene}-1" in known}


def _arranged(counts: Any, wanted: list[str], held: list[str], names: dict[str, list[str]]) -> Any:
    """The columns of the wanted genes, in their order; 0 where the file has none."""
    exact, by_id = _places(held), _places([_without_version(name) for name in held])
    found = [exact.get(name, by_id.get(_without_version(name), [])) for name in wanted]
    missing = [name for name, places in zip(wanted, found) if not places]
    if len(missing) == len(wanted):
        others = [name for name, column in names.items() if not set(wanted).isdisjoint(column)]
        advice = f"use the names of gene_column='{others[0]}'" if others else "write the names alike"
        raise InputError(
            "features-mismatch", f"No gene of genes= ({examples(wanted)}) is in the file ({examples(held)}); {advice}."
        )
    for name, places in zip(wanted, found):
        if len(places) > 1:
            raise _twice(name, held, names)
    for name, gene in _renamed(held, set(wanted)).items():
        if gene in wanted:
            raise InputError(
                "features-mismatch",
                f"The file has {name} beside {gene}, as scanpy calls a gene that is there again, and its counts would "
                "be lost; use other names with gene_column=, or list both if they are two genes.",
            )
    pairs = [(places[0], column) for column, places in enumerate(found) if places]
    if len({place for place, _ in pairs}) < len(pairs):
        raise InputError("features-mismatch", "Two ids in the list of genes differ only in their version.")
    other = [f"{wanted[column]} is {held[place]}" for place, column in pairs if wanted[column] != held[place]]
    if other:
        print(f"{counted(len(other), 'gene has', 'genes have')} another version in the file: {examples(other)}.")
    report_missing(missing, len(wanted), "genes", "in the file")
    ones = (np.ones(len(pairs)), tuple(zip(*pairs)))
    return counts @ needed("scipy.sparse", "python3-scipy").csr_matrix(ones, shape=(len(held), len(wanted)))


def _without_version(name: str) -> str:
    found = _VERSIONED.fullmatch(name)
    return found[1] if found else name


def _places(names: list[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return places
