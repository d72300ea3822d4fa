"""Columns of tables: pandas frames, Parquet and Excel files."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpnmf.errors import InputError
from dpnmf.prepare._input import cleaned, declared, listed, needed, problem, reading
from dpnmf.prepare._output import Path, Prepared, finish


def table(frame: Any, output: Path, *, columns: Sequence[str], **flags: Any) -> Prepared:
    """The named columns of a pandas frame, one row for each person."""
    pandas = needed("pandas", "python3-pandas")
    if not isinstance(frame, pandas.DataFrame):
        raise InputError("input-malformed", f"`frame` is a {type(frame).__name__}; give a pandas DataFrame.")
    if isinstance(columns, str):
        raise InputError("features-missing", f"`columns` must be a list of names: write ['{columns}'].")
    held, columns = list(frame.columns), listed("list of columns", columns)
    for name in columns:
        if name not in held:
            raise InputError("columns-unknown", f"The table has no column '{name}'; it has {', '.join(map(str, held))}.")
        if held.count(name) > 1:
            raise InputError("features-mismatch", f"The table has the column '{name}' twice; give them different names.")
    names = declared("list of columns", [str(name) for name in columns])
    values = np.column_stack([_numbers(frame[name], f"Column '{name}'") for name in columns])
    return finish(values, output, names, flags)


def _numbers(column: Any, what: str) -> npt.NDArray[np.float64]:
    if column.dtype.kind in "biuf":
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        missing = column.isna().to_numpy()
        entries = [np.nan if gone else entry for entry, gone in zip(column, missing)]
        number = (numbers.Real, decimal.Decimal)
        odd = next((one for one in entries if not isinstance(one, number) or isinstance(one, bool)), None)
        if odd is not None:
            raise InputError("input-not-a-number", f"{what} holds {str(odd)!r:.60}, which is no number.")
        values = np.array(entries, dtype=np.float64)
    if (wrong := problem(values, what, counts=False)) is not None:
        raise InputError(wrong[0], f"{wrong[1]}.")
    return values


def parquet(path: Path, output: Path, *, columns: Sequence[str], **flags: Any) -> Prepared:
    """The named columns of a Parquet file, one row for each person. Needs
    pyarrow, which Debian 12 does not have: this reader is not tested."""
    pyarrow_parquet = needed("pyarrow.parquet")
    with reading(path, "a Parquet file"):
        frame = pyarrow_parquet.read_table(path).to_pandas()
    return table(frame, output, columns=columns, **flags)


def xlsx(path: Path, output: Path, *, columns: Sequence[str], sheet: str | None = None, **flags: Any) -> Prepared:
    """The named columns of an Excel file, one row for each person. The first row
    of the sheet has the names. sheet: None if there is only one."""
    openpyxl, pandas = needed("openpyxl", "python3-openpyxl"), needed("pandas", "python3-pandas")
    with reading(path, "an .xlsx file"):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheets = {one.title: one for one in book.worksheets}
        if sheet is None and len(sheets) > 1:
            there = ", ".join(sheets)
            raise InputError("input-ambiguous", f"{path} has several sheets; name one with sheet= (there are: {there}).")
        if sheet is not None and sheet not in sheets:
            raise InputError("columns-unknown", f"{path} has no sheet '{sheet}'; it has {', '.join(sheets)}.")
        chosen = sheets[sheet or next(iter(sheets))]
        chosen.reset_dimensions()  # programs write wrong ones
        rows = [list(row) for row in chosen.iter_rows(values_only=True)]
        book.close()
    while rows and all(entry is None for entry in rows[-1]):
        rows.pop()
    if len(rows) < 2:
        raise InputError("input-empty", f"{path} has no row of names and a row for each person below it.")
    width = max(map(len, rows))
    header, *people = [row + [None] * (width - len(row)) for row in rows]
    names = ["" if name is None else cleaned(str(name)) for name in header]
    frame = pandas.DataFrame(people, columns=names, dtype=object)
    return table(frame, output, columns=columns, **flags)
