"""Words of texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpnmf.errors import InputError
from dpnmf.prepare._input import (
    counted,
    declared,
    examples,
    is_path,
    lines,
    listed,
    needed,
    numbered,
    report_missing,
)
from dpnmf.prepare._output import Path, Prepared, finish


def text(
    texts: Path | Iterable[str],
    output: Path,
    *,
    vocabulary: Path | Iterable[str],
    people: Path | Iterable[Any] | None = None,
    **flags: Any,
) -> Prepared:
    r"""Counts of the words of a declared vocabulary.

    texts: a file with one text a line (lines end with \n, and other separators are
    part of the text), or the texts. people: whose each text is, in a file or a
    list; the counts of all texts of a person are added. None: each text is of
    another person. Words are runs of letters, digits and `_`; capitals do not
    count.
    """
    scipy_sparse = needed("scipy.sparse", "python3-scipy")
    documents = lines("list of texts", texts)
    words = declared("vocabulary", vocabulary)
    odd = next((word for word in words if _words(word) != [_normal(word)]), None)
    if odd is not None:
        raise InputError("features-mismatch", f"'{odd}' in the vocabulary is not one word.")
    column = {_normal(word): d for d, word in enumerate(words)}
    if len(column) != len(words):
        raise InputError("features-mismatch", "Two words of the vocabulary differ only in capitals.")
    rows = _rows(documents, people)
    places = [(row, column[word]) for row, document in zip(rows, documents) for word in _words(document) if word in column]
    at = np.asarray(places, dtype=np.int64).reshape(-1, 2)
    counts = scipy_sparse.coo_matrix(
        (np.ones(len(at), dtype=np.int64), (at[:, 0], at[:, 1])), shape=(max(rows, default=-1) + 1, len(words))
    )
    counts.sum_duplicates()
    absent = [words[d] for d in np.flatnonzero(np.bincount(at[:, 1], minlength=len(words)) == 0)]
    if documents and len(absent) == len(words):
        raise InputError(
            "features-mismatch",
            f"No word of the vocabulary ({examples(words)}) is in a text; give words of their language.",
        )
    report_missing(absent, len(words), "words", "in a text")
    return finish(counts, output, words, flags)


def _rows(documents: list[str], people: Path | Iterable[Any] | None) -> list[int]:
    """The row of each text."""
    if people is None:
        if empty := [n for n, document in enumerate(documents, 1) if not document.strip()]:
            found = f"{counted(len(empty), 'text is', 'texts are')} empty (number {examples(empty)})"
            raise InputError("users-mismatch", f"{found}; remove them, or say whose they are with people=.")
        return list(range(len(documents)))
    authors = lines("list of people", people) if is_path(people) else listed("list of people", people)
    if len(authors) != len(documents):
        raise InputError("users-mismatch", f"There are {len(documents)} texts and {len(authors)} people; give one for each.")
    return numbered(authors, "users-mismatch", "text", "person")[0]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", _normal(text))


def _normal(text: str) -> str:
    """Small letters; letters with accents in their composed form."""
    return unicodedata.normalize("NFC", text.lower())
