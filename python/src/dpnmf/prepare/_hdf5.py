"""The parts of an .h5ad file, as every version of anndata writes them.

Only what is asked for is read, so neither embeddings nor encodings of other parts
matter, and no version of anndata is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpnmf.errors import InputError
from dpnmf.prepare._input import needed


def _is_group(node: Any) -> bool:
    return hasattr(node, "keys")


def _index_of(frame: Any) -> str:
    names = list(frame) if _is_group(frame) else frame.dtype.names
    return str(frame.attrs.get("_index", "_index" if "_index" in names else "index"))


def columns(frame: Any) -> list[str]:
    """The names of the columns of `obs` or `var`, without the index."""
    names = frame.attrs.get("column-order", list(frame)) if _is_group(frame) else frame.dtype.names
    return [str(name) for name in names if name not in (_index_of(frame), "__categories")]


def column(file: Any, frame: str, name: str | None) -> list[Any]:
    """The values of a column of `obs` or `var` (None: of its index). A missing
    value is None or NaN. Empty if the encoding is not known."""
    name = _index_of(file[frame]) if name is None else name
    if _is_group(file[frame]):
        return values(file, file[frame][name])
    found = _plain(file[frame][name])  # anndata before 0.7: one array of records
    categories = f"uns/{name}_categories"
    return _decoded(found, _plain(file[categories][()])) if categories in file else found


def values(file: Any, node: Any) -> list[Any]:
    """The values of one array, categorical or nullable or plain."""
    if not _is_group(node):
        categories = node.attrs.get("categories")  # anndata 0.7
        found = _plain(node[()])
        return _decoded(found, values(file, file[categories])) if categories is not None else found
    if "codes" in node:
        return _decoded(values(file, node["codes"]), values(file, node["categories"]))
    if "mask" in node:
        return [None if mask else value for value, mask in zip(values(file, node["values"]), node["mask"][()])]
    return []


def _decoded(codes: list[int], categories: list[Any]) -> list[Any]:
    return [categories[code] if code >= 0 else None for code in codes]


def _plain(array: Any) -> list[Any]:
    return [value.decode() if isinstance(value, bytes) else value for value in np.asarray(array).tolist()]


def has_matrix(file: Any, place: str) -> bool:
    """Returns whether there is a matrix, and not the note that there is none."""
    return place in file and file[place].attrs.get("encoding-type") != "null"


def matrix(file: Any, place: str) -> Any:
    """A dense array, or a scipy matrix by rows or columns."""
    scipy_sparse = needed("scipy.sparse", "python3-scipy")
    node = file[place]
    if not _is_group(node):
        if len(node.shape) != 2:
            raise InputError("input-malformed", f"{place} is not a matrix.")
        return node[()]
    kind = str(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format")))
    shape = tuple(node.attrs.get("shape", node.attrs.get("h5sparse_shape")))
    compressed = scipy_sparse.csc_matrix if kind.startswith("csc") else scipy_sparse.csr_matrix
    return compressed((node["data"][()], node["indices"][()], node["indptr"][()]), shape=shape)
