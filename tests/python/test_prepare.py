"""Files of other kinds, up to the import by the real curator."""

import pathlib
import shlex
import stat

import anndata
import numpy as np
import pandas
import PIL.Image
import pytest
import scipy.io
import scipy.sparse
from servers import BIN, run

from dpnmf import InputError, NotFoundError, prepare

CAP = {"population": "prepared", "epsilon": 4, "delta": 1e-3}


def code_of(kind, call, *arguments, **options):
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    sentence = caught.value.sentence
    assert sentence.endswith(".") and "\n" not in sentence
    return caught.value.code


def imported(prepared, tmp_path):
    """What the curator holds after the printed command, D x N."""
    words = shlex.split(prepared.command(name="set", data_dir=tmp_path / "data", **CAP, normalise="none", column_bound=1e6))
    run(BIN / words[0], *words[1:])
    folder = tmp_path / "data" / "datasets" / "set"
    if (folder / "values.npy").exists():
        return np.load(folder / "values.npy")
    arrays = [np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")]
    return scipy.sparse.csc_matrix(tuple(arrays), shape=(prepared.features, prepared.people)).toarray()


@pytest.fixture
def cells():
    """Six cells of three donors; four genes."""
    counts = np.array([[1, 0, 2, 0], [0, 3, 0, 0], [5, 0, 0, 1], [0, 0, 7, 0], [2, 2, 2, 2], [0, 0, 0, 9]])
    obs = pandas.DataFrame({"donor": list("bacbab"), "cell": list("uvwxyz")}, index=[f"cell{i}" for i in range(6)])
    var = pandas.DataFrame(index=["A1BG", "TP53", "MYC", "ACTB"])
    return anndata.AnnData(scipy.sparse.csr_matrix(counts.astype(np.float32)), obs, var)


def saved(cells, tmp_path):
    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    return path


BY_DONOR = [[2, 5, 2, 2], [1, 0, 9, 9], [5, 0, 0, 1]]


@pytest.mark.parametrize("suffix", ["npy", "mtx"])
def test_cells_are_added_by_donor(cells, tmp_path, suffix):
    prepared = prepare.h5ad(saved(cells, tmp_path), tmp_path / f"out.{suffix}", donor="donor")
    assert (prepared.people, prepared.features) == (3, 4)
    assert prepared.names.read_text().split() == ["A1BG", "TP53", "MYC", "ACTB"]
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, BY_DONOR)


def test_counts_may_stand_in_a_layer(cells, tmp_path):
    cells.layers["counts"] = cells.X.toarray()
    cells.X = np.log1p(cells.X.toarray())
    path = saved(cells, tmp_path)
    assert code_of(InputError, prepare.h5ad, path, tmp_path / "o.npy", donor="donor") == "input-not-counts"
    assert code_of(InputError, prepare.h5ad, path, tmp_path / "o.npy", donor="donor", layer="raw") == "columns-unknown"
    prepared = prepare.h5ad(path, tmp_path / "o.npy", donor="donor", layer="counts")
    np.testing.assert_array_equal(np.load(prepared.path), BY_DONOR)


def test_a_declared_list_of_genes_wins(cells, tmp_path):
    genes = tmp_path / "genes.txt"
    genes.write_text("MYC\nBRCA1\nA1BG\n")
    prepared = prepare.h5ad(saved(cells, tmp_path), tmp_path / "o.mtx", donor="donor", genes=genes)
    np.testing.assert_array_equal(scipy.io.mmread(prepared.path).toarray(), [[2, 0, 2], [9, 0, 1], [0, 0, 5]])
    assert prepared.names.read_text() == genes.read_text()


def test_cells_without_a_donor_are_refused(cells, tmp_path):
    path, out = saved(cells, tmp_path), tmp_path / "o.npy"
    with pytest.raises(InputError, match="a cell, and the guarantee is for people.*donor, cell"):
        prepare.h5ad(path, out)
    assert code_of(InputError, prepare.h5ad, path, out, donor="patient") == "columns-unknown"
    assert code_of(InputError, prepare.h5ad, path, out, donor="cell") == "donor-missing"  # one for each cell
    cells.obs.loc["cell3", "donor"] = np.nan
    assert code_of(InputError, prepare.h5ad, saved(cells, tmp_path), out, donor="donor") == "donor-missing"
    assert not out.exists()


def test_negative_counts_are_refused(cells, tmp_path):
    cells.X = cells.X - 1 * (cells.X == 9)
    cells.X = cells.X.toarray() - 10
    assert code_of(InputError, prepare.h5ad, saved(cells, tmp_path), tmp_path / "o.npy", donor="donor") == "input-negative"


def test_a_file_that_is_none(tmp_path):
    assert code_of(NotFoundError, prepare.h5ad, tmp_path / "none.h5ad", tmp_path / "o.npy", donor="d") == "file-not-found"


def test_pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    small = np.array([[0, 100, 200], [50, 150, 250]], dtype=np.uint8)
    PIL.Image.fromarray(small).save(folder / "b.png")
    PIL.Image.fromarray(np.kron(small, np.ones((2, 2), dtype=np.uint8))).save(folder / "a.png")
    PIL.Image.new("RGB", (3, 2), (255, 255, 255)).save(folder / "c.png")
    prepared = prepare.images(folder, tmp_path / "o.npy", size=(3, 2))
    expected = [small.ravel(), small.ravel(), np.full(6, 255)]
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, expected)
    inverted = prepare.images([folder / "b.png"], tmp_path / "i.npy", size=(3, 2), invert=True)
    np.testing.assert_array_equal(np.load(inverted.path), [255 - small.ravel()])


def test_what_is_no_picture_is_named(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    assert code_of(InputError, prepare.images, folder, tmp_path / "o.npy", size=(2, 2)) == "input-empty"
    (folder / "a.png").write_text("text")
    with pytest.raises(InputError, match="a.png is not a picture"):
        prepare.images(folder, tmp_path / "o.npy", size=(2, 2))
    assert code_of(NotFoundError, prepare.images, [folder / "b.png"], tmp_path / "o.npy", size=(2, 2)) == "file-not-found"
    assert code_of(NotFoundError, prepare.images, tmp_path / "none", tmp_path / "o.npy", size=(2, 2)) == "directory-not-found"


def test_texts_are_counted_by_person(tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("The cat saw the dog.\nDog, dog: cat!\nnothing here\n")
    words = ["cat", "dog", "Bird"]
    each = prepare.text(texts, tmp_path / "o.mtx", vocabulary=words)
    np.testing.assert_array_equal(imported(each, tmp_path).T, [[1, 1, 0], [1, 2, 0], [0, 0, 0]])
    lines = texts.read_text().splitlines()
    joined = prepare.text(lines, tmp_path / "j.mtx", vocabulary=words, people=["ann", "bob", "ann"])
    np.testing.assert_array_equal(scipy.io.mmread(joined.path).toarray(), [[1, 1, 0], [1, 2, 0]])


@pytest.mark.parametrize(
    ("vocabulary", "code"),
    [([], "features-missing"), (["a", ""], "features-missing"), (["a", "a"], "features-mismatch"),
     (["a", "A"], "features-mismatch"), (["two words"], "features-mismatch")],
)  # fmt: skip
def test_a_vocabulary_must_be_one(tmp_path, vocabulary, code):
    assert code_of(InputError, prepare.text, ["a"], tmp_path / "o.mtx", vocabulary=vocabulary) == code


def test_each_text_has_a_person(tmp_path):
    assert code_of(InputError, prepare.text, ["a", "b"], tmp_path / "o.mtx", vocabulary=["a"], people=[1]) == "users-mismatch"


def test_columns_of_a_table(tmp_path):
    frame = pandas.DataFrame({"id": [7, 8], "visits": [1, 0], "days": [2.5, 4]})
    prepared = prepare.table(frame, tmp_path / "o.npy", columns=["days", "visits"])
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, [[2.5, 1], [4, 0]])
    assert code_of(InputError, prepare.table, frame, tmp_path / "o.npy", columns=["age"]) == "columns-unknown"
    for value, code in ((np.nan, "input-not-finite"), (-1, "input-negative"), ("x", "input-not-a-number")):
        frame["bad"] = [1, value]
        assert code_of(InputError, prepare.table, frame, tmp_path / "o.npy", columns=["bad"]) == code


def test_what_is_written_is_private_and_whole(tmp_path):
    frame = pandas.DataFrame({"a": [1]})
    prepared = prepare.table(frame, tmp_path / "o.npy", columns=["a"])
    for path in (prepared.path, prepared.names):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert code_of(InputError, prepare.table, frame, tmp_path / "o.csv", columns=["a"]) == "file-type-unknown"
    assert code_of(NotFoundError, prepare.table, frame, tmp_path / "no/o.npy", columns=["a"]) == "directory-not-found"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.names.txt", "o.npy"]


def test_the_command_is_printed(tmp_path, capsys):
    prepared = prepare.table(pandas.DataFrame({"a": [1]}), pathlib.Path(tmp_path) / "two words.npy", columns=["a"], name="x")
    printed = capsys.readouterr().out
    assert prepared.command(name="x") in printed
    assert "--name x --population POPULATION --epsilon EPSILON --delta DELTA" in printed and "'" in printed
