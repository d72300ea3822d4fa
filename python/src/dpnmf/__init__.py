"""dpnmf: dictionaries of private data, from Python.

    from dpnmf import Client, PrivateNMF
    model = PrivateNMF(dataset="visits", rank=12, epsilon=1).fit()

docs/reference/python.md is the walk-through. `dpnmf.prepare` is for the data holder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpnmf._request import RunOptions
from dpnmf.client import Client, TooFewPartsWarning
from dpnmf.errors import (
    AccessError,
    BudgetError,
    DamagedError,
    DpnmfError,
    InputError,
    InternalError,
    NotFoundError,
    RunFailedError,
    StateError,
    UnavailableError,
)
from dpnmf.priors import Prior
from dpnmf.v1 import VERSION as __version__

if TYPE_CHECKING:
    from dpnmf.estimator import PrivateNMF

__all__ = [
    "AccessError",
    "BudgetError",
    "Client",
    "DamagedError",
    "DpnmfError",
    "InputError",
    "InternalError",
    "NotFoundError",
    "Prior",
    "PrivateNMF",
    "RunFailedError",
    "RunOptions",
    "StateError",
    "TooFewPartsWarning",
    "UnavailableError",
]


def __getattr__(name: str) -> Any:
    """PrivateNMF brings scikit-learn with it: only when it is asked for."""
    if name == "PrivateNMF":
        from dpnmf.estimator import PrivateNMF

        return PrivateNMF
    raise AttributeError(f"module 'dpnmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
