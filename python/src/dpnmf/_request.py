"""A run as the user asks for it, as a message with an id of its own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from google.protobuf import json_format
from google.protobuf.message import Message

from dpnmf.errors import InputError
from dpnmf.results import Dataset, Matrix
from dpnmf.v1 import analyst_pb2

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def knob(code: str) -> Any:
    """An option that is a field of RunParameters; `code` refuses a value of another type."""
    return dataclasses.field(default=None, metadata={"code": code})


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """What may be said about a run besides data set, rank and epsilon. None is
    the server's default; `dpnmf train --help` explains."""

    delta: float | None = None  # the cap's
    rounds: int | None = None
    mechanism: str = "auto"
    seed: int = 0  # of the first dictionary; no noise depends on it
    init: Matrix | None = None  # a public first dictionary, D x K
    outliers: bool = False
    outlier_threshold: float | None = None  # lambda
    outlier_bound: float | None = None
    inner_iterations: int | None = knob("inner-iterations-out-of-range")
    share_of_a: float | None = knob("share-out-of-range")
    moment_rows: int | None = knob("moment-rows-out-of-range")
    share_of_moments: float | None = knob("share-out-of-range")
    step_size: float | None = None
    steps_per_round: int | None = None
    even_if_unreliable: bool = False
    # Public knowledge that W is fitted with: a matrix of public people (a row
    # each), a Prior, a Run, 'run:ID', or a list of these. Free.
    prior: Any = None
    shares: Sequence[float] | None = knob("share-out-of-range")
    profile_directions: int | None = knob("profile-directions-out-of-range")


def options_of(options: dict[str, Any]) -> RunOptions:
    known = {field.name for field in dataclasses.fields(RunOptions)}
    if unknown := sorted(set(options) - known):
        raise InputError("usage", f"There is no option `{unknown[0]}` of a run; the options are {', '.join(sorted(known))}.")
    return RunOptions(**options)


def whole(name: str, value: Any, least: int, code: str) -> int:
    """On the wire 0 stands for a default, so a 0 that was typed stops here."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InputError(code, f"`{name}` must be a whole number of {least} or more, and is {value!r}.")
    return int(value)


def real(name: str, value: Any, code: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not float(value) > 0:
        raise InputError(code, f"`{name}` must be a number above 0, and is {value!r}.")
    return float(value)


def set_field(message: Message, name: str, value: Any, code: str) -> None:
    unset = getattr(message, name)
    if isinstance(unset, bool):
        if not isinstance(value, bool):
            raise InputError(code or "usage", f"`{name}` must be True or False, and is {value!r}.")
        setattr(message, name, value)
    elif isinstance(unset, int):
        setattr(message, name, whole(name, value, 1, code))
    elif isinstance(unset, float):
        setattr(message, name, real(name, value, code))
    else:
        entries = list(value) if isinstance(value, Iterable) else []
        if not entries or any(isinstance(entry, bool) or not isinstance(entry, numbers.Real) for entry in entries):
            raise InputError(code, f"`{name}` must be a list of numbers, and is {value!r}.")
        unset.extend(map(float, entries))


def start_of(init: Any, features: int, rank: int) -> Matrix:
    matrix = np.asarray(init, dtype=np.float64)
    if matrix.shape != (features, rank):
        shape = " x ".join(map(str, matrix.shape))
        raise InputError("init-shape-mismatch", f"`init` is {shape}; this run needs {features} x {rank}.")
    return matrix


def specification_of(
    dataset: Dataset, rank: Any, epsilon: Any, options: RunOptions
) -> analyst_pb2.RunSpecification:
    """The message, without a request id. The server checks ranges."""
    if rank is None and not dataset.has_ratings:
        raise InputError("usage", "`rank` is required for a data set that does not hold ratings.")
    if not options.outliers and (options.outlier_threshold, options.outlier_bound) != (None, None):
        raise InputError("outliers-off", "`outlier_threshold` and `outlier_bound` need outliers=True.")
    if not isinstance(options.mechanism, str):
        raise InputError("mechanism-unknown", f"`mechanism` must be a name, and is {options.mechanism!r}.")
    message = analyst_pb2.RunSpecification()
    parameters, learner = message.parameters, message.learner
    guarantee = dataset.message.guarantee
    parameters.dataset = dataset.name
    if rank is not None:
        parameters.rank = whole("rank", rank, 1, "rank-out-of-range")
    parameters.epsilon = real("epsilon", epsilon, "epsilon-out-of-range")
    delta = guarantee.delta if options.delta is None else options.delta
    parameters.delta = real("delta", delta, "delta-out-of-range")
    parameters.mechanism = options.mechanism
    parameters.adjacency = guarantee.adjacency
    parameters.conversion = guarantee.conversion
    for option in dataclasses.fields(options):
        value = getattr(options, option.name)
        if value is not None and "code" in option.metadata:
            set_field(parameters, option.name, value, option.metadata["code"])
    for target, field, code in (
        (parameters, "rounds", "rounds-out-of-range"),
        (learner, "steps_per_round", "steps-out-of-range"),
        (learner, "step_size", "step-size-out-of-range"),
    ):
        value = getattr(options, field)
        if value is not None:
            set_field(target, field, value, code)
    if options.outliers:
        bound = dataset.column_bound
        threshold = options.outlier_threshold
        parameters.outliers = True
        parameters.outlier_bound = bound if options.outlier_bound is None else options.outlier_bound
        setattr(parameters, "lambda", 2 * bound / dataset.features**0.5 if threshold is None else threshold)
    learner.initialisation = (
        analyst_pb2.INITIALISATION_RANDOM if options.init is None else analyst_pb2.INITIALISATION_PUBLIC
    )
    learner.seed = whole("seed", options.seed, 0, "usage")
    message.hopeless = bool(options.even_if_unreliable)
    return message


def request_id_of(
    specification: analyst_pb2.RunSpecification, init: Matrix | None, given: str | None
) -> str:
    """`given`, or a hash of the request: the same request has the same id."""
    if given is not None:
        if not isinstance(given, str) or not _REQUEST_ID.fullmatch(given):
            raise InputError("usage", "`request_id` must be 1 to 64 letters, digits, '.', '_' or '-'.")
        return given
    fields = json_format.MessageToDict(specification, preserving_proto_field_name=True)
    text = json.dumps(fields, sort_keys=True)
    if init is not None:
        text += hashlib.sha256(np.asfortranarray(init).tobytes(order="F")).hexdigest()
    return "py-" + hashlib.sha256(text.encode()).hexdigest()[:40]
