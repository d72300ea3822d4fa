"""Checks of all readers: files, lists of names, entries, people."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import os
import pathlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpnmf.errors import DpnmfError, InputError, NotFoundError
from dpnmf.prepare._output import Path

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

# Words for "no person", in small letters: of tables (pandas, R, Excel) and of
# programs that find whose a cell is (demuxlet, souporcell, vireo, CELLxGENE).
_NOBODY = frozenset(
    ["", "-", ".", "?", "#n/a", "n/a", "na", "<na>", "nan", "nat", "none", "null", "unknown"]
    + ["ambiguous", "doublet", "multiplet", "negative", "pooled", "unassigned"]
)

# Cells of two people, as demuxlet names them.
_OF_TWO = re.compile(r"dbl-.+-0?\.\d+|amb-.+/.+")

# First bytes of files of other kinds, in small letters. _NO_LINES are of texts.
_LFS = b"version https://git-lfs"
_NO_LINES = (_LFS, b"<!doctype html", b"<html")
_KINDS = {
    b"\x1f\x8b": "a gzip file; unpack it",
    b"bzh": "a bzip2 file; unpack it",
    b"\xfd7zxz": "an xz file; unpack it",
    b"\x28\xb5\x2f\xfd": "a zstd file; unpack it",
    b"pk\x03\x04": "a ZIP archive or an Excel file",
    b"\xd0\xcf\x11\xe0": "an old or encrypted Excel file; save it as .xlsx without a password",
    b"\xff\xfe": "text in UTF-16; save it in UTF-8",
    b"\xfe\xff": "text in UTF-16; save it in UTF-8",
    b"\x89hdf": "an HDF5 file",
    b"par1": "a Parquet file",
    b"<!doctype html": "a page of the web; download the file itself",
    b"<html": "a page of the web; download the file itself",
    _LFS: "a pointer of Git LFS; run `git lfs pull`",
}


def needed(module: str, package: str | None = None) -> Any:
    """A module that only some readers need. package: that of Debian."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        install = f"pip install {name}" if package is None else f"apt-get install {package}"
        raise InputError("package-missing", f"This reader needs the Python package {name}: {install}.") from None


@contextlib.contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turns whatever a library raises at a file into one sentence."""
    try:
        yield
    except (DpnmfError, MemoryError):
        raise
    except FileNotFoundError:
        raise NotFoundError("file-not-found", f"There is no file {path}.") from None
    except Exception as error:
        said = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        if is_path(path):
            said = _begins_like(path) + said
        name = path if is_path(path) else f"An object of type {type(path).__name__}"
        raise InputError("input-malformed", f"{name} is not {kind} that can be read ({said}).") from None


def _begins_like(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            start = file.read(32).lower()
    except (OSError, ValueError):
        return ""
    return next((f"it begins like {kind}: " for magic, kind in _KINDS.items() if start.startswith(magic)), "")


def is_path(source: Any) -> TypeGuard[Path]:
    return isinstance(source, (str, os.PathLike))


def counted(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def examples(names: Sequence[Any]) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(map(str, names[:3])) + more


def lines(what: str, source: Path | Iterable[str]) -> list[str]:
    r"""Lines of a file, which end with \n or \r\n and nowhere else, or the texts
    of a list."""
    if not is_path(source):
        return _texts(what, source)
    with reading(source, "text in UTF-8"):
        held = pathlib.Path(source).read_bytes()
        if held[:32].lower().startswith(_NO_LINES):
            raise ValueError("no lines of data")
        content = (gzip.decompress(held) if held.startswith(b"\x1f\x8b") else held).decode("utf-8-sig")
    if "\0" in content:
        raise InputError("input-malformed", f"The file {source} is not text in UTF-8.")
    if "\r" in content and "\n" not in content:
        raise InputError("input-malformed", f"The file {source} ends its lines with CR alone: write LF or CR LF.")
    content = content.removesuffix("\n")
    return [line.removesuffix("\r") for line in content.split("\n")] if content else []


def listed(what: str, source: Any) -> list[Any]:
    if not hasattr(source, "__iter__") or hasattr(source, "columns") or isinstance(source, (dict, set, frozenset)):
        raise InputError("input-malformed", f"The {what} is a {type(source).__name__}; give a file or a list.")
    return list(source)


def _texts(what: str, source: Any) -> list[str]:
    texts = listed(what, source)
    odd = [text for text in texts if not isinstance(text, str)]
    if missing := sum(person(one) is None for one in odd):
        entries = counted(missing, "missing entry", "missing entries")
        raise InputError("input-malformed", f"The {what} has {entries}; remove them.")
    if odd:
        raise InputError("input-malformed", f"The {what} holds {odd[0]!r:.40}, which is no text.")
    return texts


def declared(what: str, source: Path | Iterable[str]) -> list[str]:
    """Different, non-empty names."""
    names = [cleaned(line) for line in lines(what, source)]
    if is_path(source):
        names = [name.strip('"') for name in names]  # R writes quotes
        while names and not names[-1]:
            names.pop()
    if not names or "" in names:
        raise InputError("features-missing", f"The {what} is empty or has an empty line.")
    if (twice := repeated(names)) is not None:
        raise InputError("features-mismatch", f"The {what} has '{twice}' twice.")
    return names


def cleaned(name: str) -> str:
    """A name for a file with one name a line: ends of lines, control characters and
    lone surrogates within it become a blank."""
    return re.sub(r"[\s\ufeff\0-\x1f\x7f-\x9f\ud800-\udfff]+", " ", name).strip()


def report_missing(missing: Sequence[str], declared: int, what: str, where: str) -> None:
    """Says which declared names are only zeros."""
    if missing:
        print(f"{len(missing):,} of {declared:,} {what} are not {where} and are 0 for everybody: {examples(missing)}.")


def repeated(names: Iterable[str]) -> str | None:
    """The first name that was there before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def problem(matrix: Any, what: str, counts: bool) -> tuple[str, str] | None:
    """Code and sentence (without its full stop) if an array or a scipy matrix has
    other entries than finite numbers of at least 0, or of counts: whole ones."""
    entries = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if entries.dtype.kind not in "buif":
        return "input-not-a-number", f"{what} holds something else than numbers"
    if n := np.count_nonzero(~np.isfinite(entries)):
        found = counted(n, "entry that is", "entries that are")
        return "input-not-finite", f"{what} has {found} missing or not finite; write 0 where nothing was observed"
    if n := np.count_nonzero(entries < 0):
        found = counted(n, "negative entry", "negative entries")
        return "input-negative", f"{what} has {found}; entries must be 0 or more"
    if not counts:
        return None
    if entries.dtype.kind == "f" and (n := np.count_nonzero(entries != np.floor(entries))):
        found = counted(n, "fractional entry", "fractional entries")
        return "input-not-counts", f"{what} has {found}: sums over cells need counts, not logarithms or scaled values"
    return None if entries.any() else ("input-not-counts", f"{what} has no entry above 0")


def person(value: Any) -> str | None:
    """The id of a person; None if the value names nobody. Blanks, capitals, forms of
    an accent and leading zeros (7, "007", 7.0) make no other person, as in an import."""
    name = unicodedata.normalize("NFC", cleaned(str(value)).casefold())
    if name in _NOBODY or _OF_TWO.fullmatch(name):
        return None
    whole = re.fullmatch(r"0*(\d+)(\.0*)?", name)
    return whole[1] if whole else name


def numbered(values: Iterable[Any], code: str, one: str, role: str) -> list[int]:
    """For each value the number of its person, in the order of the ids. Refuses
    values that name nobody, or two of the people (souporcell's 0/1): `one`, such as
    a cell, lacks its `role`."""
    values = list(values)
    ids = {text: person(text) for text in {str(value) for value in values}}
    alone = {name for name in ids.values() if name is not None and "/" not in name}
    nobody = {text for text, name in ids.items() if name is None or ("/" in name and alone >= {*name.split("/")})}
    if missing := [value for value in values if str(value) in nobody]:
        words = sorted({f"'{value}'" for value in missing if isinstance(value, str) and value.strip()})
        found = f" (found: {examples(words)})" if words else ""
        lacking = counted(len(missing), f"{one} has", f"{one}s have")
        raise InputError(code, f"{lacking} no {role}; remove them or find out whose they are{found}.")
    ways: dict[str | None, list[str]] = {}
    for text in sorted(ids):
        ways.setdefault(ids[text], []).append(text)
    if several := [" = ".join(texts) for texts in ways.values() if len(texts) > 1]:
        print(f"{counted(len(several), 'person has', 'people have')} several spellings: {examples(several)}.")
    order = {name: n for n, name in enumerate(sorted(map(str, ways)))}
    return [order[str(ids[str(value)])] for value in values]
