"""What the tests of dpnmf.prepare share."""

import shlex

import numpy as np
import pytest
import scipy.sparse
from servers import BIN, run

CAP = {"population": "prepared", "epsilon": 4, "delta": 1e-3}


def code_of(kind, call, *arguments, **options):
    """The reason code of the error; its sentence is one."""
    return refused(kind, call, *arguments, **options).code


def refused(kind, call, *arguments, **options):
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    sentence = caught.value.sentence
    assert sentence.endswith(".") and not sentence.endswith("..") and "\n" not in sentence
    return caught.value


def imported(prepared, tmp_path):
    """What the curator holds after the printed command, D x N."""
    words = shlex.split(prepared.command(name="set", data_dir=tmp_path / "data", **CAP, normalise="none", column_bound=1e6))
    run(BIN / words[0], *words[1:])
    folder = tmp_path / "data" / "datasets" / "set"
    if (folder / "values.npy").exists():
        return np.load(folder / "values.npy")
    arrays = [np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")]
    return scipy.sparse.csc_matrix(tuple(arrays), shape=(prepared.features, prepared.people)).toarray()
