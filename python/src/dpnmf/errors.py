"""What can go wrong, as exceptions.

Each error has the reason code of docs/reference/errors.md (`code`), one sentence that says
what to change (`sentence`), and `retriable`: whether the same call may succeed
later without any change.
"""

from __future__ import annotations

from typing import Any


class DpnmfError(Exception):
    """The base of all errors of this package: `SENTENCE [CODE]`."""

    #: True if the same call may succeed later, for example when the server is back.
    retriable = False

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence
        if code in RETRIABLE_CODES:
            self.retriable = True

    def __str__(self) -> str:
        return f"{self.sentence} [{self.code}]"


class InputError(DpnmfError, ValueError):
    """An argument, a file or a parameter of a run is not as it must be."""


class BudgetError(DpnmfError):
    """Refused: the privacy budget has no room. Nothing was spent."""


class NotFoundError(DpnmfError, LookupError):
    """There is no such data set, run or file."""


class AccessError(DpnmfError):
    """A certificate, an identity or a role is refused."""


class StateError(DpnmfError):
    """In use, exists already, or not possible in the present state."""


class DamagedError(DpnmfError):
    """A ledger, a file or a reply is damaged."""


class InternalError(DpnmfError):
    """A fault of a program or a machine, or programs of different versions."""


class UnavailableError(DpnmfError):
    """The server cannot be reached, or does not serve now. Retriable."""

    retriable = True


class RunFailedError(DpnmfError):
    """A run ended without a model. `run` is the run as it ended."""

    def __init__(self, code: str, sentence: str, run: Any = None) -> None:
        super().__init__(code, sentence)
        self.run = run


# Errors that pass by themselves, besides every UnavailableError.
RETRIABLE_CODES = frozenset({"errors-busy", "model-not-ready", "too-many-runs"})

# By the name of the gRPC status.
_CLASSES: dict[str, type[DpnmfError]] = {
    "INVALID_ARGUMENT": InputError,
    "OUT_OF_RANGE": InputError,
    "RESOURCE_EXHAUSTED": BudgetError,
    "NOT_FOUND": NotFoundError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": UnavailableError,
    "PERMISSION_DENIED": AccessError,
    "UNAUTHENTICATED": AccessError,
    "FAILED_PRECONDITION": StateError,
    "ALREADY_EXISTS": StateError,
    "ABORTED": StateError,
    "DATA_LOSS": DamagedError,
    "CANCELLED": DpnmfError,
}


def error_of(kind: str, code: str, sentence: str) -> DpnmfError:
    """The exception for a gRPC status (its name) and a reason code."""
    if code == "errors-busy":  # a place, no budget
        return StateError(code, sentence)
    return _CLASSES.get(kind, InternalError)(code, sentence)
