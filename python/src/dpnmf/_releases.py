"""A paid release as a file: signed, for other analysts, or as a NumPy archive.

The signed file is "dpnmf release 1\\n", the SHA-256 of the rest, then each message
with its length (four bytes, little-endian) in front (docs/reference/refit.md).
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import google.protobuf.message
import numpy as np

from dpnmf import _matrices
from dpnmf.errors import InputError, NotFoundError
from dpnmf.v1 import analyst_pb2

_BEGIN = b"dpnmf release 1\n"
_DIGEST = 32
_LARGEST_MESSAGE = 4 << 20
_LARGEST_FILE = 1 << 30


def _file_malformed() -> InputError:
    return InputError(
        "release-file-malformed",
        "The file is not a whole release; give a file that `dpnmf export --bundle` wrote.",
    )


def write(path: os.PathLike[str] | str, fill: Callable[[IO[bytes]], None]) -> None:
    """The whole file or nothing: it gets its name when it is complete."""
    target = pathlib.Path(path)
    try:
        staged = tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name + ".", delete=False)
    except FileNotFoundError:
        raise NotFoundError("directory-not-found", f"The directory {target.parent} does not exist.") from None
    try:
        with staged:
            fill(staged)
            staged.flush()
            os.fsync(staged.fileno())
        os.replace(staged.name, target)
    except BaseException:
        os.unlink(staged.name)
        raise


def write_bundle(path: os.PathLike[str] | str, replies: Iterable[Any]) -> None:
    framed = bytearray()
    for reply in replies:
        message = reply.SerializeToString()
        framed += len(message).to_bytes(4, "little") + message
        if len(framed) > _LARGEST_FILE:
            raise _matrices.malformed()

    def fill(file: IO[bytes]) -> None:
        file.write(_BEGIN + hashlib.sha256(framed).digest())
        file.write(framed)

    write(path, fill)


def read_bundle(path: os.PathLike[str] | str) -> list[Any]:
    try:
        if os.path.getsize(path) > _LARGEST_FILE:
            raise _file_malformed()
        data = pathlib.Path(path).read_bytes()
    except OSError:
        raise NotFoundError("file-not-found", f"The file {os.fspath(path)} cannot be read.") from None
    begin = len(_BEGIN) + _DIGEST
    if not data.startswith(_BEGIN) or hashlib.sha256(data[begin:]).digest() != data[len(_BEGIN) : begin]:
        raise _file_malformed()
    messages = list(_messages(memoryview(data)[begin:]))
    if not messages:
        raise _file_malformed()
    return messages


def _messages(data: memoryview) -> Iterator[Any]:
    while data:
        size = int.from_bytes(data[:4], "little")
        if len(data) < 4 or not size <= min(_LARGEST_MESSAGE, len(data) - 4):
            raise _file_malformed()
        try:
            yield analyst_pb2.ReleaseReply.FromString(bytes(data[4 : 4 + size]))
        except google.protobuf.message.DecodeError:
            raise _file_malformed() from None
        data = data[4 + size :]


def write_moments(path: os.PathLike[str] | str, header: Any, replies: Iterable[Any]) -> None:
    """The members of docs/reference/refit.md."""
    names: list[str] = []
    weights: list[float] = []
    readers: dict[str, _matrices.Reader] = {}
    members: dict[str, Any] = {}
    for reply in replies:
        if reply.HasField("items"):
            names += (item.id for item in reply.items.items)
            weights += reply.items.weights
            continue
        piece = reply.matrix
        if not reply.HasField("matrix") or len(readers) > 16:
            raise _matrices.malformed()
        if piece.name not in readers:
            readers[piece.name] = _matrices.Reader(piece.shape.rows, piece.shape.columns)
            if piece.name != "rows":
                members[piece.name + "_stddev"] = np.array([piece.stddev, piece.diagonal_stddev])
        readers[piece.name].add(piece.entries)
    if "G" not in readers:
        raise _matrices.malformed()
    for name, reader in readers.items():
        matrix = reader.take()
        members[name] = matrix if name == "G" else matrix.ravel()
    members["users"] = np.array([header.dataset.users], dtype=np.int64)
    if weights:
        members["weights"] = np.array(weights)
    if len(names) == header.dataset.features and header.dataset.named_features:
        members["features"] = np.array([name.encode() for name in names])
    write(path, lambda file: np.savez(file, **members))
