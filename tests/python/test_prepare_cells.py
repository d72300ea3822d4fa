"""Counts of cells: .h5ad files of every version, and the files of 10x."""

import gzip
import sys

import anndata
import h5py
import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse
from preparing import code_of, imported, refused

from dpnmf import InputError, NotFoundError, prepare

pytestmark = pytest.mark.filterwarnings("ignore:Variable names are not unique")

COUNTS = np.array([[1, 0, 2, 0], [0, 3, 0, 0], [5, 0, 0, 1], [0, 0, 7, 0], [2, 2, 2, 2], [0, 0, 0, 9]], dtype=np.float32)
DONORS = list("bacbab")
GENES = ["A1BG", "TP53", "MYC", "ACTB"]
BY_DONOR = [[2, 5, 2, 2], [1, 0, 9, 9], [5, 0, 0, 1]]
LOGS = np.log1p(COUNTS)


@pytest.fixture
def cells():
    return of(COUNTS)


def of(x, genes=GENES, **var):
    """Six cells of three donors; four genes."""
    obs = pandas.DataFrame({"donor": DONORS, "cell": list("uvwxyz")}, index=[f"cell{i}" for i in range(6)])
    return anndata.AnnData(x, obs, pandas.DataFrame(var, index=list(genes)), dtype=None if x is None else x.dtype)


def saved(cells, tmp_path):
    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    return path


def read(path, tmp_path, donor="donor", **options):
    """Rows of the people and the names of the features."""
    prepared = prepare.h5ad(path, tmp_path / "o.npy", donor=donor, **options)
    return np.load(prepared.path).tolist(), prepared.names.read_text().splitlines()


def refusal(path, tmp_path, donor="donor", **options):
    found = refused(InputError, prepare.h5ad, path, tmp_path / "refused.npy", donor=donor, **options)
    assert not (tmp_path / "refused.npy").exists()
    return found


@pytest.mark.parametrize("suffix", ["npy", "mtx"])
def test_cells_are_added_by_donor(cells, tmp_path, suffix):
    cells.X = scipy.sparse.csr_matrix(cells.X)
    prepared = prepare.h5ad(saved(cells, tmp_path), tmp_path / f"out.{suffix}", donor="donor")
    assert (prepared.people, prepared.features) == (3, 4)
    assert prepared.names.read_text().split() == GENES
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, BY_DONOR)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint8"])
def test_every_form_of_a_matrix_is_read(tmp_path, form, kind):
    assert read(saved(of(form(COUNTS.astype(kind))), tmp_path), tmp_path) == (BY_DONOR, GENES)


# ---- where the counts are

WITHOUT_COUNTS = {
    "none": None,
    "logarithms": LOGS,
    "scaled": COUNTS - COUNTS.mean(0),
    "negative whole numbers": COUNTS - 3,
    "not finite": np.where(COUNTS == 9, np.inf, COUNTS),
    "zeros": np.zeros_like(COUNTS),
    "sparse zeros": scipy.sparse.csr_matrix(COUNTS.shape, dtype=np.float32),
}


@pytest.mark.parametrize("x", WITHOUT_COUNTS.values(), ids=WITHOUT_COUNTS)
def test_raw_is_read_if_x_holds_no_counts(tmp_path, capsys, x):
    raw = of(np.column_stack([COUNTS, COUNTS[:, :1]]), [*GENES, "only in raw"])
    cells = of(x)
    cells.raw = raw
    path = saved(cells, tmp_path)
    assert read(path, tmp_path) == ([[*row, row[0]] for row in BY_DONOR], [*GENES, "only in raw"])
    assert "counts are read from raw.X" in capsys.readouterr().out
    assert read(path, tmp_path, genes=["only in raw", "MYC"])[0] == [[row[0], row[2]] for row in BY_DONOR]


def test_raw_is_read_by_name_and_left_alone_otherwise(tmp_path, capsys):
    cells = of(COUNTS)
    cells.raw = of(COUNTS * 10)
    path = saved(cells, tmp_path)
    assert read(path, tmp_path)[0] == BY_DONOR
    assert "raw.X" not in capsys.readouterr().out
    assert read(path, tmp_path, layer="raw")[0] == (10 * np.array(BY_DONOR)).tolist()


@pytest.mark.parametrize("x", WITHOUT_COUNTS.values(), ids=WITHOUT_COUNTS)
def test_a_layer_is_read_by_name(tmp_path, x):
    cells = of(x)
    cells.layers["spliced"], cells.layers["norm"] = scipy.sparse.csr_matrix(COUNTS), LOGS
    path = saved(cells, tmp_path)
    found = refusal(path, tmp_path)
    assert "with layer= (there are: norm, spliced)" in found.sentence
    assert read(path, tmp_path, layer="spliced") == (BY_DONOR, GENES)
    assert refusal(path, tmp_path, layer="norm").code == "input-not-counts"
    assert refusal(path, tmp_path, layer="raw").code == "columns-unknown"


def test_a_file_without_counts_names_no_layers_that_are_not_there(tmp_path):
    found = refusal(saved(of(None), tmp_path), tmp_path)
    assert found.code == "input-not-counts" and "layer" not in found.sentence


def test_logarithms_everywhere_are_refused_without_advice_that_cannot_be_followed(tmp_path):
    cells = of(LOGS)
    cells.raw = of(LOGS)
    found = refusal(saved(cells, tmp_path), tmp_path)
    assert found.code == "input-not-counts" and "fractional" in found.sentence and "layer=" not in found.sentence


@pytest.mark.parametrize(
    ("x", "code"),
    [(LOGS, "input-not-counts"), (COUNTS - 3, "input-negative"), (0 * COUNTS, "input-not-counts"),
     (np.where(COUNTS == 9, np.nan, COUNTS), "input-not-finite"), (None, "input-not-counts")],
)  # fmt: skip
def test_what_is_no_count_is_refused(tmp_path, x, code):
    assert refusal(saved(of(x), tmp_path), tmp_path).code == code


# ---- versions of anndata


def _pandas_categories(file):
    """anndata 0.7: codes with a reference to their categories."""
    del file["obs/donor"]
    file["obs/donor"] = np.array([2, 1, 0, 2, 1, 2], dtype=np.int8)
    file["obs/__categories/donor"] = ["c", "a", "b"]
    file["obs/donor"].attrs["categories"] = file["obs/__categories/donor"].ref


def _records(file):
    """anndata before 0.7: tables as arrays of records, raw and formats by other names."""
    del file["obs"], file["var"], file["X"], file["raw"]
    rows = [(f"cell{i}".encode(), code) for i, code in enumerate([2, 1, 0, 2, 1, 2])]
    file["obs"] = np.array(rows, dtype=[("index", "S8"), ("donor", "i1")])
    file["uns/donor_categories"] = np.array([b"c", b"a", b"b"])
    for name in ("var", "raw.var"):
        file[name] = np.array([(gene.encode(), 0) for gene in GENES], dtype=[("index", "S8"), ("n", "i4")])
    file["X"] = LOGS
    counts = scipy.sparse.csr_matrix(COUNTS)
    group = file.create_group("raw.X")
    group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", counts.shape
    for part in ("data", "indices", "indptr"):
        group[part] = getattr(counts, part)


def _nullable(file):
    """anndata 0.11: strings with a mask."""
    del file["obs/donor"]
    group = file.create_group("obs/donor")
    group.attrs["encoding-type"], group.attrs["encoding-version"] = "nullable-string-array", "0.1.0"
    group["values"], group["mask"] = DONORS, np.zeros(6, dtype=bool)


def _no_x(file):
    """anndata 0.12: a note that there is no X."""
    del file["X"]
    file["X"] = h5py.Empty("f4")
    file["X"].attrs["encoding-type"], file["X"].attrs["encoding-version"] = "null", "0.1.0"


def _later_encodings(file):
    """Elsewhere in the file, and in columns that are not asked for."""
    for place in ("uns/new", "obsm/new", "obs/new", "var/new"):
        file.create_group(place).attrs["encoding-type"] = "of a later version"
    for frame in ("obs", "var"):
        file[frame].attrs["column-order"] = [*file[frame].attrs["column-order"], "new"]


def _attributes(form):
    """Other writers than h5py: fixed strings, or arrays of one entry."""

    def edit(file):
        for place in ("obs", "var", "X"):
            for name, value in file[place].attrs.items():
                if isinstance(value, str):
                    file[place].attrs[name] = form(value)
        for place in ("obs", "var"):
            file[place].attrs["column-order"] = np.array([n.encode() for n in file[place].attrs["column-order"]], "S9")

    return edit


_fixed_strings = _attributes(np.bytes_)
_arrays_of_one = _attributes(lambda value: np.array([value], dtype=h5py.string_dtype()))


def _one_column(file):
    """A vector of one entry as R writes it."""
    del file["obs/cell"]
    file["obs"].attrs["column-order"] = "donor"


@pytest.mark.parametrize(
    "edit",
    [_pandas_categories, _records, _nullable, _no_x, _later_encodings, _fixed_strings, _arrays_of_one, _one_column],
)
def test_files_of_every_version_are_read(tmp_path, edit):
    cells = of(COUNTS)
    cells.raw = of(COUNTS)
    path = saved(cells, tmp_path)
    with h5py.File(path, "r+") as file:
        edit(file)
    assert read(path, tmp_path) == (BY_DONOR, GENES)


SQUARE = np.array([[0, 1, 2], [0, 0, 5], [7, 0, 0]], dtype=np.float32)


def square(tmp_path, form):
    """Two cells of "a" and one of "b", three genes: the shape does not tell cells from genes."""
    obs = pandas.DataFrame({"donor": list("aab")}, index=list("uvw"))
    return saved(anndata.AnnData(form(SQUARE), obs, pandas.DataFrame(index=list("xyz")), dtype=np.float32), tmp_path)


@pytest.mark.parametrize("edit", [_fixed_strings, _arrays_of_one])
@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
def test_the_order_of_a_square_matrix_is_that_of_the_file(tmp_path, edit, form):
    path = square(tmp_path, form)
    with h5py.File(path, "r+") as file:
        edit(file)
    assert read(path, tmp_path)[0] == [[0, 1, 7], [7, 0, 0]]


def test_a_sparse_matrix_of_unknown_order_is_refused(tmp_path):
    path = square(tmp_path, scipy.sparse.csc_matrix)
    with h5py.File(path, "r+") as file:
        file["X"].attrs["encoding-type"] = "coo_matrix"
    assert refusal(path, tmp_path).code == "input-malformed"


@pytest.mark.parametrize("index", [-1, 4, 2_000_000_000])
def test_an_index_outside_of_the_matrix_is_refused(tmp_path, index):
    path = saved(of(scipy.sparse.csr_matrix(COUNTS)), tmp_path)
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = index
    assert refusal(path, tmp_path).code == "input-malformed"
    path = hdf5(tmp_path)
    with h5py.File(path, "r+") as file:
        file["matrix/indices"][0] = index
    assert code_of(InputError, read_tenx, path, tmp_path) == "input-malformed"


def test_a_column_of_an_unknown_encoding_is_no_list_of_donors(cells, tmp_path):
    path = saved(cells, tmp_path)
    with h5py.File(path, "r+") as file:
        _later_encodings(file)
    found = refusal(path, tmp_path, donor="new")
    assert found.code == "input-malformed" and "0 entries in 'new'" in found.sentence


# ---- donors


def test_cells_without_a_donor_are_refused(cells, tmp_path):
    path, out = saved(cells, tmp_path), tmp_path / "o.npy"
    with pytest.raises(InputError, match="a cell, and the guarantee is for people.*donor, cell"):
        prepare.h5ad(path, out)
    assert refusal(path, tmp_path, donor="patient").code == "columns-unknown"
    assert refusal(path, tmp_path, donor="cell").code == "donor-missing"  # one for each cell


NOBODY = ["", " ", "\t", "nan", "NaN", "NA", "N/A", "None", "<NA>", "null", "unknown", "unassigned", "doublet"]


@pytest.mark.parametrize("kind", ["object", "category"])
@pytest.mark.parametrize("value", [*NOBODY, None, np.nan], ids=repr)
def test_cells_of_nobody_are_no_person(cells, tmp_path, kind, value):
    cells.obs["donor"] = pandas.Series([value, "a", "b", value, "a", "b"], index=cells.obs_names, dtype=kind)
    found = refusal(saved(cells, tmp_path), tmp_path)
    assert found.code == "donor-missing"
    assert found.sentence.startswith("2 cells have no donor; remove them or find out whose they are")


@pytest.mark.parametrize(
    "donors",
    [[1.0, np.nan, 2.0, 1.0, 2.0, 2.0], pandas.array([1, None, 2, 1, 2, 2], dtype="Int64"),
     pandas.Categorical.from_codes([0, -1, 1, 0, 1, 1], ["a", "b"])],
)  # fmt: skip
def test_a_missing_donor_is_seen_in_every_type(cells, tmp_path, donors):
    cells.obs["donor"] = donors
    assert "1 cell has no donor" in refusal(saved(cells, tmp_path), tmp_path).sentence


@pytest.mark.parametrize("donors", [[7, 3, 9, 7, 3, 7], [7.0, 3, 9, 7, 3, 7], ["b", "a", "c", "b ", " a", "b"], list("BacbAb")])
def test_one_donor_is_one_person_however_written(cells, tmp_path, donors):
    cells.obs["donor"] = donors
    assert read(saved(cells, tmp_path), tmp_path)[0] == BY_DONOR


TWO_PEOPLE = {
    "of souporcell": ["0", "1", "0/1", "0", "1", "1/0"],
    "of demuxlet": ["SNG-a", "SNG-b", "DBL-a-b-0.500", "SNG-a", "SNG-b", "AMB-a-b-a/b"],
    "of demuxlet, in small letters": ["a", "b", "dbl-a-b-.5", "a", "b", "amb-a-b-a/b"],
}


@pytest.mark.parametrize("donors", TWO_PEOPLE.values(), ids=TWO_PEOPLE)
def test_a_cell_of_two_people_is_no_third_person(cells, tmp_path, donors):
    cells.obs["donor"] = donors
    found = refusal(saved(cells, tmp_path), tmp_path)
    assert found.code == "donor-missing" and found.sentence.startswith("2 cells have no donor")
    assert f"'{donors[2]}'" in found.sentence


@pytest.mark.parametrize(
    ("one", "two", "three"), [("7/1", "7/2", "7/3"), ("1", "1/7", "2"), ("AMB-1-001", "DBL-2", "DBL-3-7")]
)
def test_the_name_of_a_person_may_look_like_one_of_two(cells, tmp_path, one, two, three):
    cells.obs["donor"] = [two, one, three, two, one, two]
    assert read(saved(cells, tmp_path), tmp_path)[0] == BY_DONOR


# ---- genes


def test_a_declared_list_of_genes_wins(cells, tmp_path, capsys):
    genes = tmp_path / "genes.txt"
    genes.write_text("MYC\nBRCA1\nA1BG\n")
    prepared = prepare.h5ad(saved(cells, tmp_path), tmp_path / "o.mtx", donor="donor", genes=genes)
    np.testing.assert_array_equal(scipy.io.mmread(prepared.path).toarray(), [[2, 0, 2], [9, 0, 1], [0, 0, 5]])
    assert prepared.names.read_text() == genes.read_text()
    assert "1 of 3 genes are not in the file and are 0 for everybody: BRCA1." in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfMYC\nA1BG\n", b"\xef\xbb\xbfMYC\r\nA1BG\r\n", b"MYC\r\nA1BG", b" MYC\t\nA1BG\n\n\n",
     gzip.compress(b"MYC\nA1BG\n"), b'"MYC"\n"A1BG"\n'],
)  # fmt: skip
def test_lists_of_genes_are_read_as_programs_write_them(cells, tmp_path, content):
    genes = tmp_path / "genes.txt"
    genes.write_bytes(content)
    assert read(saved(cells, tmp_path), tmp_path, genes=genes) == ([[row[2], row[0]] for row in BY_DONOR], ["MYC", "A1BG"])


@pytest.mark.parametrize(
    "content", ["MYC\nA1BG\n".encode("utf-16"), "MYC\nA1BG\n".encode("utf-16-le"), b"MYC\rA1BG\r", b"", b"MYC\n\nTP53\n"]
)
def test_other_lists_of_genes_are_refused(cells, tmp_path, content):
    genes = tmp_path / "genes.txt"
    genes.write_bytes(content)
    refusal(saved(cells, tmp_path), tmp_path, genes=genes)


@pytest.mark.parametrize(("file", "declared"), [("\ufeffMYC", "MYC"), ("MYC", "\ufeffMYC"), (" MYC", "MYC")])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, file, declared):
    path = saved(of(COUNTS, [file, *"bcd"]), tmp_path)
    assert read(path, tmp_path, genes=[declared]) == ([[row[0]] for row in BY_DONOR], ["MYC"])
    assert read(path, tmp_path)[1] == ["MYC", *"bcd"]


VERSIONS = {
    "only in the file": (["ENSG01.4", "ENSG02.1", "c", "d"], ["ENSG02", "ENSG01"]),
    "only in the list": (["ENSMUSG01", "ENSMUSG02", "c", "d"], ["ENSMUSG02.12", "ENSMUSG01.3"]),
    "different": (["ENST01.4", "ENST02.1", "c", "d"], ["ENST02.2", "ENST01.10"]),
    "of RefSeq": (["NM_01.4", "NM_02.1", "c", "d"], ["NM_02", "NM_01"]),
    "beside names": (["ENSG01.4", "TP53", "c", "d"], ["TP53", "ENSG01"]),
    "both there": (["ENSG01.4", "ENSG02.1", "ENSG01.5", "ENSG02.2"], ["ENSG02.1", "ENSG01.4"]),
}


@pytest.mark.parametrize(("file", "declared"), VERSIONS.values(), ids=VERSIONS)
def test_versions_of_ids_are_no_other_genes(tmp_path, file, declared):
    path = saved(of(COUNTS, file), tmp_path)
    assert read(path, tmp_path, genes=declared) == ([[row[1], row[0]] for row in BY_DONOR], declared)


def test_the_genes_of_other_versions_are_named(tmp_path, capsys):
    read(saved(of(COUNTS, ["ENSG1.4", *"bcd"]), tmp_path), tmp_path, genes=["ENSG1", "b"])
    assert "1 gene has another version in the file: ENSG1 is ENSG1.4." in capsys.readouterr().out


APART = {
    "a clone's number is no version": (["RP11-34P13.7", *"bcd"], ["RP11-34P13.8"]),
    "two versions of a declared gene": (["ENSG1.4", "ENSG1.5", "c", "d"], ["ENSG1"]),
    "two versions of a gene of the file": (["ENSG1", *"bcd"], ["ENSG1.1", "ENSG1.2"]),
    "capitals": (["Actb", "Tp53", "Myc", "A1bg"], GENES),
    "another nomenclature": (["ENSG1", "ENSG2", "ENSG3", "ENSG4"], GENES),
    "a declared gene twice": (["MYC", "b", "MYC", "d"], ["MYC", "b"]),
    "a gene twice, and no list": (["MYC", "b", "MYC", "d"], None),
    "a gene twice but for blanks": (["MYC", "b", "MYC ", "d"], ["MYC", "b"]),
    "the list has a gene twice": (GENES, ["MYC", "TP53", "MYC"]),
}


@pytest.mark.parametrize(("file", "declared"), APART.values(), ids=APART)
def test_genes_that_do_not_agree_are_refused(tmp_path, file, declared):
    found = refusal(saved(of(COUNTS, file), tmp_path), tmp_path, genes=declared)
    assert found.code == "features-mismatch"


def test_a_refusal_shows_both_nomenclatures(tmp_path):
    path = saved(of(COUNTS, ["ENSG1", "ENSG2", "ENSG3", "ENSG4"], feature_name=GENES, length=[1, 2, 3, 4]), tmp_path)
    sentence = refusal(path, tmp_path, genes=["TP53", "MYC"]).sentence
    assert "(TP53, MYC)" in sentence and "(ENSG1, ENSG2, ENSG3 and 1 more)" in sentence
    assert "gene_column='feature_name'" in sentence
    assert read(path, tmp_path, genes=["TP53", "MYC"], gene_column="feature_name")[0] == [row[1:3] for row in BY_DONOR]
    for column in ("length", "no"):
        found = refusal(path, tmp_path, gene_column=column)
        assert found.code == "columns-unknown" and found.sentence.endswith("such columns are: _index, feature_name.")
    sentence = refusal(path, tmp_path, genes=["ENSG1"], gene_column="feature_name").sentence
    assert "gene_column='_index'" in sentence
    assert read(path, tmp_path, genes=["ENSG1"], gene_column="_index")[0] == [row[:1] for row in BY_DONOR]


def test_a_column_named_index_is_not_the_index(tmp_path):
    path = saved(of(COUNTS, list("abcd"), index=GENES), tmp_path)
    assert read(path, tmp_path)[1] == list("abcd")
    assert read(path, tmp_path, gene_column="index")[1] == GENES


def test_a_gene_that_is_there_twice_is_not_lost(tmp_path):
    cells = of(COUNTS, ["MATR3", "TP53", "MATR3", "ACTB"], gene_ids=["E1", "E2", "E3", "E4"], kind=list("ppqq"))
    path = saved(cells, tmp_path)
    for genes in (None, ["MATR3", "TP53"]):
        sentence = refusal(path, tmp_path, genes=genes).sentence
        assert "'MATR3' is there twice" in sentence and "gene_column= (there are: gene_ids)" in sentence
    found = refusal(path, tmp_path, gene_column="kind")
    assert "gene_column= (there are: gene_ids)" in found.sentence
    assert read(path, tmp_path, gene_column="gene_ids") == (BY_DONOR, ["E1", "E2", "E3", "E4"])
    assert read(path, tmp_path, genes=["ACTB", "TP53"])[0] == [[row[3], row[1]] for row in BY_DONOR]  # not asked for


def test_a_gene_that_scanpy_renamed_is_not_lost(tmp_path, capsys):
    path = saved(of(COUNTS, ["MATR3", "TP53", "MATR3-1", "NKX2-1"], gene_ids=["E1", "E2", "E3", "E4"]), tmp_path)
    assert read(path, tmp_path)[0] == BY_DONOR
    assert "1 name looks like a gene that is there again: MATR3-1;" in capsys.readouterr().out
    found = refusal(path, tmp_path, genes=["TP53", "MATR3"])
    assert found.code == "features-mismatch" and "has MATR3-1 beside MATR3" in found.sentence
    assert read(path, tmp_path, genes=["MATR3", "MATR3-1"])[0] == [[row[0], row[2]] for row in BY_DONOR]
    assert read(path, tmp_path, genes=["NKX2-1", "TP53"])[0] == [[row[3], row[1]] for row in BY_DONOR]  # not asked for


def test_an_end_of_line_in_a_name_is_no_other_feature(tmp_path):
    path = saved(of(COUNTS, ["A\nB", "C\u2028D", "E\rF", "G"]), tmp_path)
    prepared = prepare.h5ad(path, tmp_path / "o.npy", donor="donor")
    assert prepared.names.read_text().split("\n") == ["A B", "C D", "E F", "G", ""]
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, BY_DONOR)


# ---- files that are none


def test_a_file_that_is_none(cells, tmp_path):
    none, out = tmp_path / "none.h5ad", tmp_path / "o.npy"
    assert code_of(NotFoundError, prepare.h5ad, none, out, donor="d") == "file-not-found"
    whole = saved(cells, tmp_path).read_bytes()
    for content in (b"", b"donor,gene\na,1\n", whole[:3000]):
        none.write_bytes(content)
        assert refusal(none, tmp_path).code == "input-malformed"
    assert refusal(tmp_path, tmp_path).code == "input-malformed"
    assert "AnnData" in refusal(cells, tmp_path).sentence


def _no_index(file):
    del file["var/_index"]


def _a_cell_less(file):
    del file["X"]
    file["X"] = COUNTS[:5]


def _one_number(file):
    del file["X"]
    file["X"] = 1.0


@pytest.mark.parametrize("edit", [_no_index, _a_cell_less, _one_number])
def test_a_file_that_lost_a_part(cells, tmp_path, edit):
    path = saved(cells, tmp_path)
    with h5py.File(path, "r+") as file:
        edit(file)
    assert refusal(path, tmp_path).code == "input-malformed"


def test_a_missing_package_is_named(cells, tmp_path, monkeypatch):
    path = saved(cells, tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    found = refusal(path, tmp_path)
    assert found.code == "package-missing" and "apt-get install python3-h5py" in found.sentence


# ---- 10x

BARCODES = [f"AAC{letter}-1" for letter in "ABCDEF"]
IDS = ["ENSG1", "ENSG2", "ENSG3", "ENSG4"]
SYMBOLS = ["MATR3", "TP53", "MATR3", "ACTB"]
WHOSE = dict(zip(BARCODES, DONORS))


def folder(tmp_path, counts=COUNTS, types=("Gene Expression",) * 4, zipped=True, barcodes=BARCODES):
    path = tmp_path / "tenx"
    path.mkdir(exist_ok=True)
    field = "integer" if (counts % 1 == 0).all() else "real"
    scipy.io.mmwrite(path / "matrix.mtx", scipy.sparse.coo_matrix(counts.T), field=field)
    (path / "barcodes.tsv").write_text("".join(f"{b}\n" for b in barcodes))
    rows = zip(IDS, SYMBOLS, types) if types else zip(IDS, SYMBOLS)
    features = path / ("features.tsv" if types else "genes.tsv")
    features.write_text("".join("\t".join(row) + "\n" for row in rows))
    for file in list(path.iterdir()) if zipped else ():
        (path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    return path


def hdf5(tmp_path, version=3, types=(b"Gene Expression",) * 4):
    path = tmp_path / "tenx.h5"
    counts = scipy.sparse.csc_matrix(COUNTS.T.astype(np.int32))
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix" if version == 3 else "GRCh38")
        group["barcodes"], group["shape"] = np.array(BARCODES, dtype="S"), counts.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(counts, part)
        if version == 3:
            group["features/id"], group["features/name"] = np.array(IDS, dtype="S"), np.array(SYMBOLS, dtype="S")
            group["features/feature_type"], group["features/_all_tag_keys"] = np.array(types), [b"genome"]
        else:
            group["genes"], group["gene_names"] = np.array(IDS, dtype="S"), np.array(SYMBOLS, dtype="S")
    return path


def read_tenx(path, tmp_path, donors=WHOSE, **options):
    prepared = prepare.tenx(path, tmp_path / "o.npy", donors=donors, **options)
    return np.load(prepared.path).tolist(), prepared.names.read_text().splitlines()


TENX = {
    "folder": folder,
    "folder of plain files": lambda tmp_path: folder(tmp_path, zipped=False),
    "folder of Cell Ranger 2": lambda tmp_path: folder(tmp_path, types=None, zipped=False),
    ".h5": hdf5,
    ".h5 of Cell Ranger 2": lambda tmp_path: hdf5(tmp_path, 2),
}


@pytest.mark.parametrize("write", TENX.values(), ids=TENX)
def test_files_of_10x_are_added_by_donor(tmp_path, write):
    path = write(tmp_path)
    assert read_tenx(path, tmp_path) == (BY_DONOR, IDS)
    symbols = read_tenx(path, tmp_path, genes=["ACTB", "TP53"], gene_column="gene_symbols")
    assert symbols == ([[row[3], row[1]] for row in BY_DONOR], ["ACTB", "TP53"])
    assert code_of(InputError, read_tenx, path, tmp_path, gene_column="gene_symbols") == "features-mismatch"  # MATR3


TABLES = {
    "header": "barcode,donor\n" + "".join(f"{b},{d}\n" for b, d in WHOSE.items()),
    "no header": "".join(f"{b},{d}\n" for b, d in WHOSE.items()),
    "of Excel": "\ufeffbarcode;donor\r\n" + "".join(f"{b};{d}\r\n" for b, d in WHOSE.items()),
    "of vireo": "cell\tdonor_id\tprob_max\n" + "".join(f"{b}\t{d}\t1.0\n" for b, d in WHOSE.items()),
    "no header, with a byte order mark": "\ufeff" + "".join(f"{b},{d}\n" for b, d in WHOSE.items()),
    "no header, with tabs": "".join(f"{b}\t{d}\n" for b, d in WHOSE.items()),
    "quoted": '"barcode","donor"\n' + "".join(f'"{b}","{d}"\n' for b, d in WHOSE.items()),
}


@pytest.mark.parametrize("content", TABLES.values(), ids=TABLES)
def test_a_table_says_whose_cells_they_are(tmp_path, content):
    table = tmp_path / "donors.csv"
    table.write_text(content, newline="")
    assert read_tenx(folder(tmp_path), tmp_path, donors=table)[0] == BY_DONOR


def test_cells_that_the_table_does_not_name_are_left_out_and_counted(tmp_path, capsys):
    whose = {b: d for b, d in WHOSE.items() if d != "c"} | {"AACX-1": "c"}
    assert read_tenx(hdf5(tmp_path), tmp_path, donors=whose)[0] == BY_DONOR[:2]
    assert "1 of 6 cells are not in donors= and are left out." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("donors", "code"),
    [({b.removesuffix("-1"): d for b, d in WHOSE.items()}, "donor-missing"), (WHOSE | {BARCODES[0]: ""}, "donor-missing"),
     (WHOSE | {BARCODES[0]: "unassigned"}, "donor-missing"), ({b: b for b in BARCODES}, "donor-missing"),
     ({}, "donor-missing"), ("", "donor-missing"), ("AACA-1\n", "input-ragged"), (["a", "b"], "input-malformed"),
     ("AACA-1,a\nAACA-1,b\n", "input-duplicate"), ('AACA-1,"a\nAACB-1,a\nAACC-1,b\n', "input-malformed"),
     ("<!DOCTYPE html>\n<p>a,b\n", "input-malformed"),
     # Tables of souporcell and demuxlet: a status or a count would name people.
     ("barcode\tstatus\tassignment\nAACA-1\tsinglet\ta\nAACB-1\tsinglet\tb\n", "input-ambiguous"),
     ("BARCODE\tRD.TOTL\tBEST\nAACA-1\t7\tSNG-a\nAACB-1\t7\tSNG-b\n", "input-ambiguous"),
     ("AACA-1,a,7\nAACB-1,a,8\nAACC-1,b,9\n", "input-ambiguous"),
     ("donor,barcode\na,AACA-1\na,AACB-1\n", "input-duplicate"), ({7}, "input-malformed")],
)  # fmt: skip
def test_a_table_of_donors_must_be_one(tmp_path, donors, code):
    if isinstance(donors, str):
        (tmp_path / "donors.csv").write_text(donors)
        donors = tmp_path / "donors.csv"
    assert code_of(InputError, read_tenx, folder(tmp_path), tmp_path, donors=donors) == code


def test_a_quote_that_swallows_a_table_is_refused(tmp_path):
    (tmp_path / "donors.csv").write_text('AACA-1,"' + "a\n" * 100_000)
    assert code_of(InputError, read_tenx, folder(tmp_path), tmp_path, donors=tmp_path / "donors.csv") == "input-malformed"


def test_only_genes_are_counted_unless_others_are_declared(tmp_path, capsys):
    types = ["Gene Expression", "Antibody Capture", "Gene Expression", "Peaks"]
    for path in (folder(tmp_path, types=types), hdf5(tmp_path, types=[kind.encode() for kind in types])):
        assert read_tenx(path, tmp_path) == ([[row[0], row[2]] for row in BY_DONOR], ["ENSG1", "ENSG3"])
        assert "2 of 4 features are not of the type Gene Expression and are left out." in capsys.readouterr().out
        assert read_tenx(path, tmp_path, genes=["ENSG2"])[0] == [[row[1]] for row in BY_DONOR]


@pytest.mark.parametrize(
    ("options", "code"),
    [({"counts": LOGS}, "input-not-counts"), ({"counts": COUNTS - 1}, "input-negative"),
     ({"barcodes": BARCODES[:5]}, "input-malformed"), ({"barcodes": [*BARCODES[:5], BARCODES[0]]}, "input-duplicate")],
)  # fmt: skip
def test_a_damaged_folder_is_refused(tmp_path, options, code):
    assert code_of(InputError, read_tenx, folder(tmp_path, **options), tmp_path) == code


def test_what_is_not_of_10x(cells, tmp_path):
    path = folder(tmp_path)
    (path / "matrix.mtx.gz").write_bytes(gzip.compress(b"no matrix"))
    assert code_of(InputError, read_tenx, path, tmp_path) == "input-malformed"
    (path / "matrix.mtx.gz").unlink()
    assert code_of(NotFoundError, read_tenx, path, tmp_path) == "file-not-found"
    assert code_of(NotFoundError, read_tenx, tmp_path / "none.h5", tmp_path) == "file-not-found"
    assert code_of(InputError, read_tenx, None, tmp_path) == "input-malformed"
    with h5py.File(hdf5(tmp_path), "r+") as file:
        file.copy("matrix", "mm10")
    assert "2 matrices of 10x" in refused(InputError, read_tenx, tmp_path / "tenx.h5", tmp_path).sentence
    assert "prepare.h5ad" in refused(InputError, read_tenx, saved(cells, tmp_path), tmp_path).sentence
    assert "prepare.tenx" in refusal(hdf5(tmp_path), tmp_path).sentence
