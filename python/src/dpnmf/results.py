"""What the server answers, as small objects that show themselves.

Each keeps the message it was made of in `message` (proto/dpnmf/v1).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from dpnmf import _text
from dpnmf.v1 import analyst_pb2, curator_pb2, privacy_pb2

Matrix = npt.NDArray[np.float64]

ENDED = ("completed", "cancelled", "failed")


def _name(enum: Any, value: int, prefix: str) -> str:
    text: str = enum.Name(value)
    return "unknown" if text.endswith("_UNSPECIFIED") else text.removeprefix(prefix).lower()


def state_name(value: int) -> str:
    return _name(analyst_pb2.RunState, value, "RUN_STATE_")


def conversion_name(value: int) -> str:
    return _name(privacy_pb2.Conversion, value, "CONVERSION_")


def enforced(epsilons: privacy_pb2.Epsilons, conversion: int) -> float:
    """The epsilon by the conversion that the population's policy enforces."""
    if conversion == privacy_pb2.CONVERSION_GAUSSIAN:
        return epsilons.gaussian
    if conversion == privacy_pb2.CONVERSION_RDP_OPTIMAL:
        return epsilons.rdp_optimal
    return epsilons.rdp  # the largest of the three


def _void_text(unix_seconds: int) -> str:
    return f"VOID since {_text.moment(unix_seconds)}"


def guarantee_text(guarantee: privacy_pb2.Guarantee) -> str:
    adjacency = _name(privacy_pb2.Adjacency, guarantee.adjacency, "ADJACENCY_")
    text = (
        f"epsilon {_text.up(guarantee.epsilon)} at delta {_text.up(guarantee.delta)} "
        f"({conversion_name(guarantee.conversion)}, {adjacency})"
    )
    return f"{text}, {_void_text(guarantee.void_since)}" if guarantee.HasField("void_since") else text


class _Shown:
    """Shows itself as pairs of names and values."""

    def _pairs(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return _text.text_pairs(self._pairs())

    def _repr_html_(self) -> str:
        return _text.html_pairs(self._pairs())


Row = TypeVar("Row")


class Table(list[Row], Generic[Row]):
    """A list that shows itself as a table."""

    _header: tuple[str, ...] = ()
    _empty = "nothing"

    def _cells(self, row: Row) -> tuple[str, ...]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return _text.text_table(self._header, map(self._cells, self)) if self else self._empty

    def _repr_html_(self) -> str:
        return _text.html_table(self._header, map(self._cells, self)) if self else self._empty


class Dataset(_Shown):
    """The public facts about a data set."""

    def __init__(self, message: curator_pb2.Dataset) -> None:
        self.message = message
        self.name = message.name
        self.population = message.population
        self.features = message.features  # D
        self.users = message.users  # N, or the declared N0
        self.unit_length = message.normalisation == curator_pb2.NORMALISATION_L2
        self.column_bound = message.column_bound  # 1 if unit_length
        self.epsilon = message.guarantee.epsilon  # of the cap
        self.delta = message.guarantee.delta
        self.has_ratings = message.HasField("ratings")
        self.weighted = message.weighted_features  # before columns are normalised
        self.max_rank = message.max_rank

    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip(Datasets._header, Datasets._cells(Datasets(), self)))


class Datasets(Table[Dataset]):
    _header = ("name", "population", "D", "N", "columns", "bound", "max rank", "guarantee of the cap")
    _empty = "The curator offers no data set to this analyst."

    def _cells(self, row: Dataset) -> tuple[str, ...]:
        columns = "ratings" if row.has_ratings else "l2" if row.unit_length else "none"
        m = row.message
        facts = (
            ("weighted", row.weighted), ("sparse", m.sparse), ("sums", m.HasField("sums")), ("public", m.is_public),
        )  # fmt: skip
        extras = [w for w, yes in facts if yes]
        return (
            row.name, row.population, str(row.features), str(row.users), ", ".join([columns, *extras]),
            _text.near(row.column_bound), str(row.max_rank), guarantee_text(row.message.guarantee),
        )  # fmt: skip


class Run(_Shown):
    """A run as the server has it: `state` is queued, running, waiting,
    cancelling, completed, cancelled or failed."""

    def __init__(self, message: analyst_pb2.Run) -> None:
        self.message = message
        parameters = message.specification.parameters
        self.run_id = message.run_id
        self.state = state_name(message.state)
        self.dataset = parameters.dataset
        self.rank = parameters.rank
        self.epsilon = parameters.epsilon  # asked for
        self.delta = parameters.delta
        self.mechanism = parameters.mechanism
        self.rounds = parameters.rounds
        self.rounds_done = message.rounds_done
        self.seed = message.specification.learner.seed
        self.request_id = message.specification.request_id
        self.charged = message.charged.value  # mu^2
        self.spent = enforced(message.spent, parameters.conversion)  # a reading
        self.error = message.error
        self.error_code = message.error_code
        self.started_by = message.started_by
        self.parent = message.parent  # "" unless it is a refit
        self.added = message.added
        # Share of people's squared length that W explains, estimated from the
        # release; None where it is not known. Client.show has it.
        self.explained = message.explained if message.HasField("explained") else None

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    def _pairs(self) -> list[tuple[str, str]]:
        pairs = [("run", self.run_id), ("state", self.state)]
        if self.error:
            pairs.append(("error", f"{self.error} [{self.error_code}]"))
        pairs += [
            ("data set", self.dataset),
            ("rank", str(self.rank)),
            ("rounds", f"{self.rounds_done} of {self.rounds}"),
            ("mechanism", self.mechanism),
        ]
        if self.explained is not None:
            pairs.append(("explains", f"{100 * self.explained:.0f} % of people's squared length (an estimate)"))
        if self.parent:
            pairs.append(("fitted to the release of", f"{self.parent[:12]}; no charge"))
        elif self.added:
            pairs.append(("release", "added; paid for elsewhere"))
        else:
            conversion = conversion_name(self.message.specification.parameters.conversion)
            pairs += [
                ("asked for", f"epsilon {_text.up(self.epsilon)} at delta {_text.up(self.delta)} ({conversion})"),
                ("spent so far", f"epsilon {_text.up(self.spent)}"),
            ]
        if self.message.HasField("void_since"):
            pairs.append(("guarantee of the cap", _void_text(self.message.void_since)))
        return [*pairs, ("started", f"{_text.moment(self.message.created_unix_seconds)} by {self.started_by}")]


class Runs(Table[Run]):
    """Newest first."""

    _header = ("run", "state", "data set", "rank", "rounds", "mechanism", "spent so far, epsilon", "of", "started")
    _empty = "No run has been started yet."

    def _cells(self, row: Run) -> tuple[str, ...]:
        free = f"free, of {row.parent[:12]}" if row.parent else "added" if row.added else ""
        return (
            row.run_id[:12], row.state, row.dataset, str(row.rank), f"{row.rounds_done}/{row.rounds}",
            row.mechanism, free or _text.up(row.spent), "" if free else _text.up(row.epsilon),
            _text.moment(row.message.created_unix_seconds),
        )  # fmt: skip


class Plan(_Shown):
    """What a run would cost and give. Asking is free."""

    def __init__(self, message: analyst_pb2.PlanRunReply) -> None:
        self.message = message
        parameters = message.specification.parameters
        self.accepted = not message.would_be_refused
        self.refusal = message.refusal
        self.refusal_code = message.refusal_code
        self.mechanism = parameters.mechanism
        self.rank = parameters.rank
        self.rounds = parameters.rounds
        self.epsilon = enforced(message.plan.epsilons, parameters.conversion)
        self.forecast = message.forecast.sentence
        self.reliable_parts = message.forecast.reliable_parts
        self.epsilon_needed = message.forecast.epsilon_needed or None
        self.seconds = message.learning.seconds
        self.memory_bytes = message.learning.memory_bytes

    def _pairs(self) -> list[tuple[str, str]]:
        position = self.message.position
        verdict = "would be accepted" if self.accepted else f"would be refused: {self.refusal} [{self.refusal_code}]"
        return [
            ("forecast", self.forecast or "-"),
            ("this run", verdict),
            ("rank", str(self.rank)),
            ("mechanism", f"{self.mechanism}, {self.rounds} round{'' if self.rounds == 1 else 's'}"),
            ("cost of this run, at most", f"epsilon {_text.up(self.epsilon)}, mu^2 {_text.up(self.message.plan.cost.value)}"),
            ("left before the run", f"mu^2 {_text.down(position.left.value)} of {_text.down(position.cap.value)}"),
            ("guarantee of the cap", guarantee_text(self.message.guarantee)),
        ]


class Budget(_Shown):
    """The budget of a data set's population, by the mirror of the analyst's
    server and by the curator's ledger of record."""

    def __init__(self, message: analyst_pb2.GetBudgetReply) -> None:
        self.message = message
        conversion = message.guarantee.conversion
        self.population = message.record.population
        self.epsilon = message.guarantee.epsilon  # the guarantee
        self.delta = message.guarantee.delta
        self.largest_run = message.largest_run  # the largest epsilon of one more run
        self.charged = enforced(message.charged_epsilons, conversion)  # by all: a reading
        self.own_charged = enforced(message.own_epsilons, conversion)
        self.own_charges = message.own_charge_count  # in the ledger of record
        self.mirror_charges = message.mirror.charge_count
        self.agree = message.agree
        self.disagreement = message.disagreement

    def _pairs(self) -> list[tuple[str, str]]:
        record = self.message.record
        if self.agree:
            under_way = len(self.message.under_way)
            agreement = "agree" + (f"; {under_way} charge{'' if under_way == 1 else 's'} under way" if under_way else "")
            if lost := len(self.message.never_fetched):
                agreement += f"; {lost} charge{'' if lost == 1 else 's'} of runs that ended before they had the release"
        else:
            agreement = f"DIFFER: {self.disagreement}"
        return [
            ("population", self.population),
            ("guarantee of the cap", guarantee_text(self.message.guarantee)),
            ("largest run", f"epsilon {_text.down(self.largest_run)} at delta {_text.up(self.delta)}"),
            ("spent so far, by all", f"epsilon {_text.up(self.charged)}, mu^2 {_text.up(record.charged.value)}"),
            ("spent so far, by us", f"epsilon {_text.up(self.own_charged)}, {self.own_charges} charge{'' if self.own_charges == 1 else 's'}"),
            ("reserved", f"mu^2 {_text.up(record.reserved.value)}"),
            ("left", f"mu^2 {_text.down(record.left.value)} of {_text.down(record.cap.value)}"),
            ("curator's ledger and our copy", agreement),
        ]

    def _repr_html_(self) -> str:
        record = self.message.record
        cap = record.cap.value or 1.0
        charged, reserved = record.charged.value / cap, record.reserved.value / cap
        label = f"{100 * charged:.1f} % of the cap charged, {100 * reserved:.1f} % reserved (shares of mu^2)"
        gauge = _text.html_gauge([("charged", charged, "#0072b2"), ("reserved", reserved, "#e69f00")], label)
        return gauge + super()._repr_html_()


class Event(_Shown):
    """One step of a run."""

    def __init__(self, message: analyst_pb2.RunEvent, conversion: int = 0) -> None:
        self.message = message
        self.cursor = message.cursor
        self.state = state_name(message.state)
        self.round = message.round
        self.rounds = message.rounds
        self.spent = enforced(message.spent, conversion)  # a reading
        self.change = message.relative_change  # |W_t - W_{t-1}| / |W_{t-1}|
        self.seconds = message.round_seconds
        self.sentence = message.message
        self.largest_run = message.largest_run if message.HasField("largest_run") else None

    def _pairs(self) -> list[tuple[str, str]]:
        pairs = [
            ("state", self.state),
            ("round", f"{self.round} of {self.rounds}"),
            ("spent so far", f"epsilon {_text.up(self.spent)}"),
        ]
        return [*pairs, ("note", self.sentence)] if self.sentence else pairs


class Receipts(Table[Any]):
    """The curator's signed receipts, messages dpnmf.v1.Receipt."""

    _header = ("sequence", "data set", "run", "round", "mechanism", "mu^2")
    _empty = "no receipt"

    def _cells(self, row: Any) -> tuple[str, ...]:
        return (
            str(row.sequence), row.dataset, row.run_id[:12], str(row.round), row.mechanism,
            _text.up(row.charged.value),
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Part:
    """What is known of one part from the release alone."""

    explained: float  # share of the second moment: [0, 1]
    reliability: float  # cosine to its match over fresh copies of the noise
    noise: bool  # reliability below .6: probably noise


@dataclasses.dataclass(frozen=True)
class Model:
    """A dictionary."""

    run_id: str
    w: Matrix  # D x K, columns are parts
    state: str
    rounds_done: int
    names: list[str] | None = None  # of the D features
    errors: Matrix | None = None  # D x K, standard errors by the known noise
    parts: list[Part] | None = None  # of the K columns
    dataset: Dataset | None = None  # as it was when the run was started
    weights: Matrix | None = None  # of the D features, if the data set has them


@dataclasses.dataclass(frozen=True)
class ItemModel:
    """What a run on ratings has learned about D items (docs/reference/recommender.md)."""

    run_id: str
    ids: list[str]
    names: list[str]
    low: float  # the declared range of ratings
    high: float
    residual_stddev: float
    matrices: dict[str, Matrix]  # by name: base, factors, count ...
    level: float = 0  # above 0: non-negative; a profile is at least -level after the bias


class RankChoice(_Shown):
    """How many parts a release supports. `rank` is 0 if it supports none."""

    def __init__(self, facts: Iterable[Any], choice: Any) -> None:
        self.facts = list(facts)  # messages dpnmf.v1.RankFacts
        self.rank = choice.rank
        self.expected = choice.expected
        self.sentence: str = choice.sentence

    _header = ("rank", "stability", "held out", "explained", "stable parts")

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (str(f.rank), f"{f.stability:.3f}", f"{f.held_out:.3f}", f"{f.explained:.3f}", str(f.stable_parts))
            for f in self.facts
        ]

    def __repr__(self) -> str:
        return _text.text_table(self._header, self._rows()) + "\n" + self.sentence

    def _repr_html_(self) -> str:
        return _text.html_table(self._header, self._rows(), self.sentence)


@dataclasses.dataclass(frozen=True)
class SyntheticPeople:
    """People drawn from a release: no row is a person."""

    people: Matrix  # one a row, D columns
    labels: npt.NDArray[np.int64] | None = None  # index into classes
    classes: tuple[str, ...] = ()
    integers: bool = False
