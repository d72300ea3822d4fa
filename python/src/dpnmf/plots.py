"""Plots of parts, by matplotlib."""

from __future__ import annotations

import io
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure

from dpnmf.errors import InputError
from dpnmf.results import Matrix, RankChoice

_ACROSS = 6
_NUMPY_ORDERS: dict[str, Literal["C", "F"]] = {"row": "C", "column": "F"}


class Plot(Figure):  # type: ignore[misc]
    """A figure that notebooks show, without pyplot and its state."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=100)
        return file.getvalue()


def _panels(count: int, width: float, height: float) -> tuple[Plot, list[Any]]:
    across = min(count, _ACROSS)
    down = -(-count // across)
    figure = Plot(figsize=(width * across, height * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes[:count])


def pictures(components: Matrix, shape: tuple[int, int], order: str = "row") -> Plot:
    """Each part as a picture, white for 0, on a scale of its own.

    order: "row" or "column", along what the pixels follow one another.
    """
    rows, columns = shape
    if order not in _NUMPY_ORDERS:
        raise InputError("order-unknown", f'`order` is "{order}"; it must be "row" or "column".')
    if rows * columns != components.shape[1]:
        raise InputError(
            "shape-mismatch", f"`shape` is {rows} x {columns}, and the parts have {components.shape[1]} features."
        )
    figure, axes = _panels(len(components), 1.2, 1.35)
    for k, (axis, part) in enumerate(zip(axes, components)):
        pixels = part.reshape(rows, columns, order=_NUMPY_ORDERS[order])
        axis.imshow(pixels, cmap="gray_r", vmin=0, interpolation="nearest")
        axis.set_title(f"Part {k + 1}", fontsize=8)
        axis.set_xticks([])
        axis.set_yticks([])
    return figure


def bars(components: Matrix, names: list[str], words: int, errors: Matrix | None) -> Plot:
    """The largest features of each part; whiskers are two standard errors."""
    figure, axes = _panels(len(components), 2.4, 0.18 * words + 0.6)
    for k, (axis, part) in enumerate(zip(axes, components)):
        largest = np.argsort(-part, kind="stable")[:words][::-1]
        whiskers = None if errors is None else 2 * errors[k, largest]
        axis.barh([names[d] for d in largest], part[largest], xerr=whiskers, color="#0072b2")
        axis.set_title(f"Part {k + 1}", fontsize=8)
        axis.tick_params(labelsize=7)
    return figure


def ranks(choice: RankChoice) -> Plot:
    """Stability and held-out fit against the rank."""
    figure, (axis,) = _panels(1, 5, 3)
    at = [f.rank for f in choice.facts]
    axis.plot(at, [f.stability for f in choice.facts], "o-", color="#0072b2", label="stability")
    axis.plot(at, [f.held_out for f in choice.facts], "s--", color="#d55e00", label="held out")
    if choice.rank:
        axis.axvline(choice.rank, color="#888888", linewidth=1, label=f"advised: {choice.rank}")
    axis.set_xlabel("rank")
    axis.legend(fontsize=8)
    return figure
