"""Texts and tables, and what is written, up to the import by the real curator."""

import bz2
import datetime
import decimal
import lzma
import pathlib
import stat
import sys

import numpy as np
import openpyxl
import pandas
import pytest
import scipy.io
from preparing import code_of, imported, refused

from dpnmf import InputError, NotFoundError, UnavailableError, prepare

WORDS = ["cat", "dog", "Bird"]


def words_of(tmp_path, texts, vocabulary=("tea", "coffee"), **options):
    """Counts of the words, one person in a row."""
    prepared = prepare.text(texts, tmp_path / "o.mtx", vocabulary=vocabulary, **options)
    return scipy.io.mmread(prepared.path).toarray().tolist()


def in_file(tmp_path, content):
    path = tmp_path / "lines.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---- texts


def test_texts_are_counted_by_person(tmp_path):
    texts = in_file(tmp_path, "The cat saw the dog.\nDog, dog: cat!\nnothing here\n")
    each = prepare.text(texts, tmp_path / "o.mtx", vocabulary=WORDS)
    np.testing.assert_array_equal(imported(each, tmp_path).T, [[1, 1, 0], [1, 2, 0], [0, 0, 0]])
    lines = texts.read_text().splitlines()
    assert words_of(tmp_path, lines, WORDS, people=["ann", "bob", "ann"]) == [[1, 1, 0], [1, 2, 0]]
    (tmp_path / "people.txt").write_text("\ufeffann\nbob\nann\n")
    assert words_of(tmp_path, lines, WORDS, people=tmp_path / "people.txt") == [[1, 1, 0], [1, 2, 0]]


SEPARATORS = ["\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\x1d", "\x1e", "\t", "\xa0", "\r"]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("separator", SEPARATORS, ids=ascii)
def test_a_separator_within_a_text_makes_no_other_person(tmp_path, separator, end):
    texts = [f"tea{separator}coffee", f"tea tea{separator}", "coffee"]
    expected = [[1, 1], [2, 0], [0, 1]]
    assert words_of(tmp_path, in_file(tmp_path, "".join(one + end for one in texts))) == expected
    assert words_of(tmp_path, in_file(tmp_path, end.join(texts))) == expected
    assert words_of(tmp_path, texts) == expected


def test_a_line_end_within_a_text_of_a_list_makes_no_other_person(tmp_path):
    texts = pandas.Series(["tea\ncoffee\n\ntea", "coffee\r\n"], index=[7, 3])
    assert words_of(tmp_path, texts) == [[2, 1], [0, 1]]


@pytest.mark.parametrize(
    "content", ["\ufefftea\ncoffee\n", "\ufefftea\r\ncoffee\r\n", "tea\ncoffee\n\n\n", " tea \ncoffee"]
)
def test_a_vocabulary_is_read_as_programs_write_it(tmp_path, content, capsys):
    assert words_of(tmp_path, ["tea coffee tea", "milk"], in_file(tmp_path, content)) == [[2, 1], [0, 0]]
    assert (tmp_path / "o.names.txt").read_text() == "tea\ncoffee\n"
    assert "for everybody" not in capsys.readouterr().out


def test_an_accent_is_one_in_every_form(tmp_path):
    composed, apart = "caf\u00e9", "cafe\u0301"
    for declared in (composed, apart):
        assert words_of(tmp_path, [f"{composed} {apart} cafe"], [declared, "cafe"]) == [[2, 1]]


def test_words_that_occur_nowhere_are_counted(tmp_path, capsys):
    words_of(tmp_path, ["tea", "TEA"], ["tea", "milk", "coffee"])
    assert "2 of 3 words are not in a text and are 0 for everybody: milk, coffee." in capsys.readouterr().out
    assert code_of(InputError, words_of, tmp_path, ["Tee", "Kaffee"]) == "features-mismatch"


@pytest.mark.parametrize(
    ("vocabulary", "code"),
    [([], "features-missing"), (["a", ""], "features-missing"), (["a", "a"], "features-mismatch"),
     (["a", "A"], "features-mismatch"), (["two words"], "features-mismatch"), (["a", np.nan], "input-malformed"),
     (["a", 7], "input-malformed"), (None, "input-malformed"), (pandas.DataFrame({"a": ["x"]}), "input-malformed")],
)  # fmt: skip
def test_a_vocabulary_must_be_one(tmp_path, vocabulary, code):
    assert code_of(InputError, prepare.text, ["a"], tmp_path / "o.mtx", vocabulary=vocabulary) == code


MISSING = [None, np.nan, pandas.NA, pandas.NaT]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_a_missing_text_is_no_person(tmp_path, value):
    found = refused(InputError, words_of, tmp_path, ["tea", value, "coffee", value])
    assert found.code == "input-malformed" and "2 missing entries" in found.sentence
    assert code_of(InputError, words_of, tmp_path, ["tea", value], people=["ann", "bob"]) == "input-malformed"


@pytest.mark.parametrize("value", [*MISSING, "", "  ", "nan", "NaN", "None", "NA", "<NA>", "null", "unknown"], ids=repr)
def test_a_text_of_nobody_is_no_person(tmp_path, value):
    found = refused(InputError, words_of, tmp_path, ["tea"] * 4, people=["ann", value, value, "bob"])
    assert found.code == "users-mismatch"
    assert found.sentence.startswith("2 texts have no person; remove them or find out whose they are")


@pytest.mark.parametrize("people", [["ann", "ann ", "bob"], [7, 7.0, 8], ["7", 7, 8]])
def test_one_person_is_one_however_written(tmp_path, people):
    assert words_of(tmp_path, ["tea", "coffee", "tea"], people=people) == [[1, 1], [1, 0]]


def test_an_empty_text_is_a_person_only_with_a_name(tmp_path):
    for texts in (["tea", "", " "], in_file(tmp_path, "tea\n\n\n")):
        found = refused(InputError, words_of, tmp_path, texts)
        assert found.code == "users-mismatch" and "2 texts are empty (number 2, 3)" in found.sentence
        assert words_of(tmp_path, texts, people=["ann", "bob", "cy"]) == [[1, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    "content", ["tea\rcoffee\r", "tea\ncoffee\n".encode("utf-16"), "tea\n".encode("utf-16-le"), b"caf\xe9\n"]
)
def test_files_that_are_no_lines_of_utf8_are_refused(tmp_path, content):
    assert code_of(InputError, words_of, tmp_path, in_file(tmp_path, content)) == "input-malformed"


def test_each_text_has_a_person(tmp_path):
    for people in ([1], [1, 2, 3], []):
        assert code_of(InputError, words_of, tmp_path, ["a", "b"], ["a"], people=people) == "users-mismatch"
    assert code_of(InputError, words_of, tmp_path, ["a"], ["a"], people=5) == "input-malformed"
    assert code_of(InputError, words_of, tmp_path, pandas.DataFrame({"a": ["x"]}), ["a"]) == "input-malformed"
    assert code_of(NotFoundError, words_of, tmp_path, tmp_path / "none.txt", ["a"]) == "file-not-found"
    assert code_of(InputError, words_of, tmp_path, tmp_path, ["a"]) == "input-malformed"
    assert code_of(InputError, words_of, tmp_path, [], ["a"]) == "input-empty"


# ---- tables


def test_columns_of_a_table(tmp_path):
    frame = pandas.DataFrame({"id": [7, 8], "visits": [1, 0], "days": [2.5, 4]})
    prepared = prepare.table(frame, tmp_path / "o.npy", columns=["days", "visits"])
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, [[2.5, 1], [4, 0]])
    assert code_of(InputError, prepare.table, frame, tmp_path / "o.npy", columns=["age"]) == "columns-unknown"


NUMBERS = {
    "bool": ([True, False], [1, 0]),
    "Int64": (pandas.array([3, 0], dtype="Int64"), [3, 0]),
    "boolean": (pandas.array([True, False], dtype="boolean"), [1, 0]),
    "float32": (np.array([0.5, 2], dtype=np.float32), [0.5, 2]),
    "sparse": (pandas.arrays.SparseArray([0.0, 2.0]), [0, 2]),
    "objects": (np.array([1, 2.5], dtype=object), [1, 2.5]),
    "decimals": ([decimal.Decimal("0.25"), decimal.Decimal(3)], [0.25, 3]),
    "categories": (pandas.Categorical([30, 10]), [30, 10]),
}


@pytest.mark.parametrize(("column", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_every_type_are_read(tmp_path, column, expected):
    prepared = prepare.table(pandas.DataFrame({"a": column}), tmp_path / "o.npy", columns=["a"])
    assert np.load(prepared.path).ravel().tolist() == expected


NO_ENTRIES = {
    "missing": ([1, np.nan], "input-not-finite"),
    "None": (np.array([1, None], dtype=object), "input-not-finite"),
    "NA of Int64": (pandas.array([1, None], dtype="Int64"), "input-not-finite"),
    "infinite": ([1, np.inf], "input-not-finite"),
    "negative": ([1, -1], "input-negative"),
    "words": ([1, "x"], "input-not-a-number"),
    "digits in a text": (["1", "2"], "input-not-a-number"),
    "thousands": (["1,234", "5"], "input-not-a-number"),
    "dates": (pandas.to_datetime(["2020-01-01", "2020-01-02"]), "input-not-a-number"),
    "dates with a zone": (pandas.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC"), "input-not-a-number"),
    "times": (pandas.to_timedelta([1, 2], "s"), "input-not-a-number"),
    "complex": ([1 + 2j, 1], "input-not-a-number"),
    "a truth value among numbers": (np.array([True, 2], dtype=object), "input-not-a-number"),
}


@pytest.mark.parametrize(("column", "code"), NO_ENTRIES.values(), ids=NO_ENTRIES)
def test_what_is_no_entry_is_refused_by_the_name_of_its_column(tmp_path, column, code):
    frame = pandas.DataFrame({"good": [1, 2], "bad": column})
    found = refused(InputError, prepare.table, frame, tmp_path / "o.npy", columns=["good", "bad"])
    assert found.code == code and "'bad'" in found.sentence


def test_a_column_that_is_there_twice_is_not_lost(tmp_path):
    frame = pandas.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    assert "'a' twice" in refused(InputError, prepare.table, frame, tmp_path / "o.npy", columns=["a", "b"]).sentence
    prepared = prepare.table(frame, tmp_path / "o.npy", columns=["b"])
    assert np.load(prepared.path).tolist() == [[2]]
    for names, columns in ((["a", "b"], ["a", "b", "a"]), ([1, "1"], [1, "1"]), (["a", "a "], ["a", "a "])):
        frame = pandas.DataFrame([[1, 2]], columns=names)
        assert code_of(InputError, prepare.table, frame, tmp_path / "o.npy", columns=columns) == "features-mismatch"


@pytest.mark.parametrize(
    ("frame", "columns", "code"),
    [(np.ones((2, 2)), ["a"], "input-malformed"), ({"a": [1]}, ["a"], "input-malformed"), (None, ["a"], "input-malformed"),
     (pandas.DataFrame({"a": [1]}), "a", "features-missing"), (pandas.DataFrame({"a": [1]}), [], "features-missing"),
     (pandas.DataFrame({"a": [1]}), None, "input-malformed"),
     (pandas.DataFrame({("a", "x"): [1], ("a", "y"): [1]}), ["a"], "columns-unknown"),
     (pandas.DataFrame({"a": []}), ["a"], "input-empty")],
)  # fmt: skip
def test_other_tables_are_refused(tmp_path, frame, columns, code):
    assert code_of(InputError, prepare.table, frame, tmp_path / "o.npy", columns=columns) == code


def test_an_end_of_line_in_the_name_of_a_column_is_no_other_feature(tmp_path):
    frame = pandas.DataFrame({"visits\n2024": [1, 2], "days\u2028spent": [3, 4], "\ufeffid": [5, 6], "a\ud800": [7, 8]})
    prepared = prepare.table(frame, tmp_path / "o.npy", columns=list(frame))
    assert prepared.names.read_text() == "visits 2024\ndays spent\nid\na\n"
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, frame)


# ---- Excel


def book(tmp_path, *sheets):
    """A file with the rows of each sheet."""
    file = openpyxl.Workbook()
    file.remove(file.active)
    for number, rows in enumerate(sheets):
        sheet = file.create_sheet(f"sheet{number}")
        for row in rows:
            sheet.append(row)
    file.save(tmp_path / "a.xlsx")
    return tmp_path / "a.xlsx"


VISITS = [["id", "visits ", "days"], ["p1", 1, 2.5], ["p2", 0, 4]]


def test_a_sheet_is_read_as_a_table(tmp_path):
    prepared = prepare.xlsx(book(tmp_path, VISITS), tmp_path / "o.npy", columns=["days", "visits"])
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, [[2.5, 1], [4, 0]])
    assert prepared.names.read_text() == "days\nvisits\n"


def test_empty_rows_below_a_table_are_nobody(tmp_path):
    path = book(tmp_path, [*VISITS, [None, None, None], [None]])
    assert np.load(prepare.xlsx(path, tmp_path / "o.npy", columns=["days"]).path).tolist() == [[2.5], [4]]
    path = book(tmp_path, [*VISITS, [None], ["p3", 1, 1]])
    assert code_of(InputError, prepare.xlsx, path, tmp_path / "o.npy", columns=["days"]) == "input-not-finite"


def test_one_sheet_of_several_is_named(tmp_path):
    path = book(tmp_path, [["a"], [1]], [["a"], [2]])
    found = refused(InputError, prepare.xlsx, path, tmp_path / "o.npy", columns=["a"])
    assert found.code == "input-ambiguous" and "(there are: sheet0, sheet1)" in found.sentence
    assert np.load(prepare.xlsx(path, tmp_path / "o.npy", columns=["a"], sheet="sheet1").path) == [[2]]
    assert code_of(InputError, prepare.xlsx, path, tmp_path / "o.npy", columns=["a"], sheet="b") == "columns-unknown"


@pytest.mark.parametrize(
    ("rows", "code"),
    [([["a", "a"], [1, 2]], "features-mismatch"), ([["Visits in 2024"], ["a"], [1]], "columns-unknown"),
     ([["a"]], "input-empty"),
     ([], "input-empty"), ([["a"], [1], ["2"]], "input-not-a-number"), ([["a"], ["1,5"]], "input-not-a-number"),
     ([["a"], ["#N/A"]], "input-not-a-number"), ([["a"], [True]], "input-not-a-number"),
     ([["a"], ["=1+1"], [1]], "input-not-finite"),
     ([["a"], [datetime.date(2024, 1, 1)]], "input-not-a-number"), ([["a"], [-1]], "input-negative")],
)  # fmt: skip
def test_other_sheets_are_refused(tmp_path, rows, code):
    assert code_of(InputError, prepare.xlsx, book(tmp_path, rows), tmp_path / "o.npy", columns=["a"]) == code


def test_what_is_no_excel_file(tmp_path, monkeypatch):
    path, out = tmp_path / "a.xlsx", tmp_path / "o.npy"
    assert code_of(NotFoundError, prepare.xlsx, path, out, columns=["a"]) == "file-not-found"
    for name in ("a.xlsx", "a.xls", "a.csv"):
        (tmp_path / name).write_text("a\n1\n")
        assert code_of(InputError, prepare.xlsx, tmp_path / name, out, columns=["a"]) == "input-malformed"
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    found = refused(InputError, prepare.xlsx, path, out, columns=["a"])
    assert found.code == "package-missing" and "apt-get install python3-openpyxl" in found.sentence


# ---- files of another kind

KINDS = {
    "gzip": (b"\x1f\x8b\x08", "unpack it"),
    "bzip2": (bz2.compress(b"tea"), "unpack it"),
    "xz": (lzma.compress(b"tea"), "unpack it"),
    "zstd": (b"\x28\xb5\x2f\xfd", "unpack it"),
    "ZIP": (b"PK\x03\x04\xff", "ZIP"),
    "Parquet": (b"PAR1\xff", "Parquet"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "HTML": (b"<!DOCTYPE html>\n<html>\xff", "download the file itself"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12\n", "git lfs pull"),
}
READERS = {
    ".h5ad": lambda path, out: prepare.h5ad(path, out, donor="d"),
    "10x": lambda path, out: prepare.tenx(path, out, donors={}),
    "picture": lambda path, out: prepare.images([path], out, size=(1, 1)),
    ".xlsx": lambda path, out: prepare.xlsx(path, out, columns=["a"]),
    "texts": lambda path, out: prepare.text(path, out, vocabulary=["version"]),
}


@pytest.mark.parametrize(("content", "words"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_file_of_another_kind_is_named(tmp_path, reader, content, words):
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    found = refused(InputError, reader, path, tmp_path / "o.npy")
    assert found.code == "input-malformed" and words in found.sentence


# ---- what is written


def test_what_is_written_is_private_and_whole(tmp_path):
    frame = pandas.DataFrame({"a": [1]})
    prepared = prepare.table(frame, tmp_path / "o.npy", columns=["a"])
    for path in (prepared.path, prepared.names):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert code_of(InputError, prepare.table, frame, tmp_path / "o.csv", columns=["a"]) == "file-type-unknown"
    assert code_of(NotFoundError, prepare.table, frame, tmp_path / "no/o.npy", columns=["a"]) == "directory-not-found"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.names.txt", "o.npy"]


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path):
    (tmp_path / "o.npy").mkdir()
    frame = pandas.DataFrame({"a": [1]})
    assert code_of(UnavailableError, prepare.table, frame, tmp_path / "o.npy", columns=["a"]) == "storage-failed"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.names.txt", "o.npy"]


def test_the_command_is_printed(tmp_path, capsys):
    prepared = prepare.table(pandas.DataFrame({"a": [1]}), pathlib.Path(tmp_path) / "two words.npy", columns=["a"], name="x")
    printed = capsys.readouterr().out
    assert prepared.command(name="x") in printed
    assert "--name x --population POPULATION --epsilon EPSILON --delta DELTA" in printed and "'" in printed
