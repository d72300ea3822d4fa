"""scikit-learn's base classes, or the little of them that works without it."""

from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        def get_params(self, deep: bool = True) -> dict[str, Any]:
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> Any:
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}.")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            shown = ", ".join(f"{k}={v!r}" for k, v in self.get_params().items() if v is not None)
            return f"{type(self).__name__}({shown})"

    class TransformerMixin:  # type: ignore[no-redef]
        def fit_transform(self, x: Any = None, y: Any = None) -> Any:
            return self.fit(x, y).transform(x)  # type: ignore[attr-defined]

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        pass


__all__ = ["BaseEstimator", "NotFittedError", "TransformerMixin"]
