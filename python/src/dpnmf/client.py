"""The client of an analyst's server."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import grpc
import numpy as np

from dpnmf import _connection, _matrices, _releases, _request
from dpnmf.errors import DpnmfError, InputError, NotFoundError, RunFailedError, StateError, UnavailableError
from dpnmf.priors import Prior, priors_of
from dpnmf.progress import Progress, progress_for
from dpnmf.results import (
    Budget,
    Dataset,
    Datasets,
    Event,
    ItemModel,
    Matrix,
    Model,
    Part,
    Plan,
    RankChoice,
    Receipts,
    Run,
    Runs,
    SyntheticPeople,
)
from dpnmf.v1 import analyst_pb2, analyst_pb2_grpc, curator_pb2

_RUN_DIGITS = 32
# Mechanisms whose last release W is fitted to (Mechanism::fits_moments of the server).
_FIT_MOMENTS = ("aimed", "moments")
_FIRST_PAUSE, _LARGEST_PAUSE, _GIVE_UP_AFTER = 0.5, 10.0, 120.0


class TooFewPartsWarning(UserWarning):
    """Fewer parts can be expected to be reliable than were asked for."""


class Client:
    """A connection to an analyst's server, by mutual TLS.

    Arguments override the environment (DPNMF_SERVER, DPNMF_CA, DPNMF_CERT,
    DPNMF_KEY), which overrides the configuration file (`config`, DPNMF_CONFIG,
    ./dpnmf.toml, ~/.config/dpnmf.toml). Raises `DpnmfError` for settings and
    files that cannot work; connects at the first call. A run is given by its id,
    by the first digits of its id, or by a `Run`. Thread-safe.

    server: HOST:PORT. ca, cert, key: PEM files. use_proxy: connect through the
    HTTP proxy of the environment (DPNMF_USE_PROXY) [directly]. timeout: seconds
    of one call.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
        config: str | None = None,
        use_proxy: bool | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._settings = _connection.read_settings(server, ca, cert, key, config, use_proxy)
        self._timeout = timeout
        _connection.check_files(self._settings)
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._process = os.getpid()

    # A copy in another process opens a connection of its own.
    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_timeout": self._timeout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def __deepcopy__(self, memo: Any) -> Client:
        return self

    def __repr__(self) -> str:
        return f"Client({self._settings.server!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the next call opens another one."""
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    @property
    def identities(self) -> list[str]:
        """The names of this client, as in the server's list of clients."""
        return _connection.identities_of(_connection.own_certificate(self._settings))

    # ---- Calls ----

    def _stub(self) -> Any:
        with self._lock:
            if self._channel is None or self._process != os.getpid():
                self._channel = _connection.open_channel(self._settings)
                self._process = os.getpid()
            return analyst_pb2_grpc.AnalystServiceStub(self._channel)  # type: ignore[no-untyped-call]

    def _call(self, method: str, request: Any, timeout: float | None = None) -> Any:
        try:
            return getattr(self._stub(), method)(
                request, timeout=timeout or self._timeout, metadata=_connection.trace()
            )
        except grpc.RpcError as error:
            raise _connection.from_rpc(error, self._settings) from None

    def _stream(self, method: str, request: Any) -> Iterator[Any]:
        call = getattr(self._stub(), method)(request, metadata=_connection.trace())
        try:
            yield from call
        except grpc.RpcError as error:
            raise _connection.from_rpc(error, self._settings) from None
        finally:
            call.cancel()

    def _send(self, method: str, messages: Iterable[Any]) -> Any:
        try:
            return getattr(self._stub(), method)(iter(messages), metadata=_connection.trace())
        except grpc.RpcError as error:
            raise _connection.from_rpc(error, self._settings) from None

    # ---- Data sets and budgets ----

    def datasets(self) -> Datasets:
        """The data sets that this analyst may use."""
        reply = self._call("ListDatasets", curator_pb2.ListDatasetsRequest())
        return Datasets(Dataset(message) for message in reply.datasets)

    def dataset(self, name: str) -> Dataset:
        """One data set by name. NotFoundError "dataset-unknown" lists the names."""
        offered = self.datasets()
        for dataset in offered:
            if dataset.name == name:
                return dataset
        raise _connection.not_found_dataset(name, [d.name for d in offered])

    def budget(self, dataset: str) -> Budget:
        """The budget of a data set's population; free."""
        return Budget(self._call("GetBudget", analyst_pb2.GetBudgetRequest(dataset=dataset)))

    def receipts(self, dataset: str = "") -> Receipts:
        """The curator's signed receipts for charges; of all data sets if ""."""
        return Receipts(self._stream("GetReceipts", analyst_pb2.GetReceiptsRequest(dataset=dataset)))

    # ---- Runs ----

    def plan(self, dataset: str, *, rank: int | None = None, epsilon: float | None = None, **options: Any) -> Plan:
        """The cost and a forecast of a run; free. Options: see `RunOptions`."""
        chosen = _request.options_of(options)
        specification = _request.specification_of(self.dataset(dataset), rank, epsilon, chosen)
        specification.priors.extend(prior.header for prior in self._priors(chosen.prior))
        return self._plan(specification)

    def _priors(self, given: Any) -> list[Prior]:
        """With the whole ids of runs."""
        priors = priors_of(given)
        for prior in priors:
            if prior.header.run_id:
                prior.header.run_id = prior.header.source = self.run_id(prior.header.run_id)
        return priors

    def _plan(self, specification: analyst_pb2.RunSpecification) -> Plan:
        return Plan(self._call("PlanRun", analyst_pb2.PlanRunRequest(specification=specification)))

    def train(
        self,
        dataset: str,
        *,
        rank: int | None = None,
        epsilon: float | None = None,
        request_id: str | None = None,
        spend_again: bool = False,
        **options: Any,
    ) -> Run:
        """Starts a run, which costs budget, and returns without waiting for it.

        The same request is the same run: a repeated call finds the run that it
        started, in whatever state, and spends nothing. `request_id` (1 to 64 of
        A-Z a-z 0-9 . _ -) names the request; without one it is a hash of all
        that is asked for. StateError "release-paid" if a run has paid for a
        release of the data set that `refit` fits for free, unless `spend_again`
        or a `request_id` says that another one is wanted; "run-unreliable" if
        less than half of the parts can be expected to be reliable, unless
        `even_if_unreliable`.
        """
        chosen = _request.options_of(options)
        facts = self.dataset(dataset)
        specification = _request.specification_of(facts, rank, epsilon, chosen)
        priors = self._priors(chosen.prior)
        specification.priors.extend(prior.header for prior in priors)
        start = None
        if chosen.init is not None:
            start = _request.start_of(chosen.init, facts.features, specification.parameters.rank)
        specification.request_id = _request.request_id_of(specification, start, request_id)
        runs = self.runs()
        known = self._known(runs, specification, tries=request_id is None)
        if known is not None and request_id is None:
            return known
        plan = self._plan(specification)
        if known is None:
            if plan.accepted:
                self._refuse_needless(plan, runs, spend_again or request_id is not None)
            if plan.accepted and plan.message.forecast.too_small:
                warnings.warn(plan.forecast, TooFewPartsWarning, stacklevel=2)
        elif plan.message.specification != known.message.specification:
            raise StateError(
                "request-differs",
                f"The request_id '{request_id}' belongs to run {known.run_id[:12]} with other parameters; give another.",
            )
        elif start is None:  # else the server compares it
            return known

        def messages() -> Iterator[Any]:
            yield analyst_pb2.StartRunRequest(specification=specification)
            if start is not None:
                for chunk in _matrices.chunks(start):
                    yield analyst_pb2.StartRunRequest(dictionary=chunk)
            for prior in priors:
                yield from prior.messages(analyst_pb2.StartRunRequest)

        return Run(self._send("StartRun", messages()))

    def _known(self, runs: Runs, specification: Any, tries: bool) -> Run | None:
        """The own run of a request. A request that ended before it was charged
        may be tried again, under an id with a number."""
        identities = self.identities
        own = {r.request_id: r for r in runs if r.started_by in identities}
        first, number = specification.request_id, 1
        while (run := own.get(specification.request_id)) is not None:
            if not (tries and run.state in ("failed", "cancelled") and run.charged == 0):
                return run
            number += 1
            specification.request_id = f"{first}-{number}"
        return None

    @staticmethod
    def _refuse_needless(plan: Plan, runs: Runs, spend_again: bool) -> None:
        """What `dpnmf train` asks about: a release that is paid for, and a run that gives little."""
        message = plan.message
        asked, stages, forecast = message.specification.parameters, message.plan.stages, message.forecast
        # Second moments follow from neither rank nor seed.
        if not spend_again and asked.mechanism in _FIT_MOMENTS and stages and stages[-1].release == asked.mechanism:
            paid = [
                run for run in runs
                if run.dataset == asked.dataset and not run.parent and not run.added
                and run.mechanism in _FIT_MOMENTS
                and (run.state not in ("cancelling", "cancelled", "failed") or run.message.charged.value > 0)
            ]  # fmt: skip
            if paid:
                best = max(paid, key=lambda run: run.epsilon)
                raise StateError(
                    "release-paid",
                    f"Run {best.run_id[:12]} has paid for a release of data set '{asked.dataset}': "
                    f"refit('{best.run_id[:12]}', rank={asked.rank}) gives a model from it for free; "
                    "to pay for another release, give spend_again=True.",
                )
        if forecast.noise > 0 and 2 * forecast.reliable_parts < asked.rank and not message.specification.hopeless:
            raise StateError(
                "run-unreliable",
                f"{forecast.sentence} Nothing was started; to pay for this run nevertheless, give even_if_unreliable=True.",
            )

    def runs(self) -> Runs:
        """All runs of the server, newest first."""
        reply = self._call("ListRuns", analyst_pb2.ListRunsRequest())
        return Runs(Run(message) for message in reply.runs)

    def run_id(self, run: Run | str) -> str:
        """The whole id. InputError "run-id-ambiguous", NotFoundError "run-unknown"."""
        if isinstance(run, Run):
            return run.run_id
        digits = str(run).lower()
        if not 1 <= len(digits) <= _RUN_DIGITS or not set(digits) <= set("0123456789abcdef"):
            raise InputError(
                "run-id-malformed", f"'{run}' is not a run id: give the first digits of one that runs() shows."
            )
        if len(digits) == _RUN_DIGITS:
            return digits
        matches = [r.run_id for r in self.runs() if r.run_id.startswith(digits)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise InputError("run-id-ambiguous", f"More than one run begins with '{run}'; give more digits.")
        raise NotFoundError("run-unknown", f"No run begins with '{run}'; runs() shows them.")

    def show(self, run: Run | str) -> Run:
        """The run as it is now."""
        return Run(self._call("GetRun", analyst_pb2.GetRunRequest(run_id=self.run_id(run))))

    def cancel(self, run: Run | str) -> Run:
        """Ends a run; the uncharged part of its reservation is returned."""
        return Run(self._call("CancelRun", analyst_pb2.CancelRunRequest(run_id=self.run_id(run))))

    def forget(self, run: Run | str) -> None:
        """Deletes a run that has ended, with its model. Its charges stay."""
        self._call("ForgetRun", analyst_pb2.ForgetRunRequest(run_id=self.run_id(run)))

    def watch(
        self,
        run: Run | str,
        cursor: int = 0,
        *,
        on_retry: Callable[[DpnmfError, float], None] | None = None,
        on_learning: Callable[[float], None] | None = None,
    ) -> Iterator[Event]:
        """The events of a run after `cursor`, until it has ended.

        A lost connection is tried again, with growing pauses, for two minutes;
        `on_retry` is told the error and the pause in seconds, `on_learning` the
        share of a fit that is done, between events.
        """
        run_id = self.run_id(run)
        conversion = self.show(run_id).message.specification.parameters.conversion
        pause, waited = _FIRST_PAUSE, 0.0
        while True:
            try:
                for message in self._stream("WatchRun", analyst_pb2.WatchRunRequest(run_id=run_id, cursor=cursor)):
                    if message.HasField("learning"):
                        if on_learning is not None:
                            on_learning(message.learning)
                        continue
                    if message.cursor <= cursor:
                        continue
                    cursor, pause, waited = message.cursor, _FIRST_PAUSE, 0.0
                    yield Event(message, conversion)
                if self.show(run_id).ended:
                    return
                raise UnavailableError("unreachable", "The server ended the stream of events.")
            except UnavailableError as error:
                if waited >= _GIVE_UP_AFTER:
                    raise
                if on_retry is not None:
                    on_retry(error, pause)
            time.sleep(pause)
            waited += pause
            pause = min(2 * pause, _LARGEST_PAUSE)

    def wait(self, run: Run | str, *, progress: bool | None = None) -> Run:
        """Waits for the end of a run and shows its progress. RunFailedError if
        it ends without completing. An interrupt stops the waiting only."""
        run_id = self.run_id(run)
        shown = progress_for(progress, f"run {run_id[:12]}")
        try:
            self._follow(run_id, shown)
        except KeyboardInterrupt:
            # In the traceback, which is shown with every kind of progress.
            stopped = f"Stopped waiting; run {run_id[:12]} continues. cancel('{run_id[:12]}') ends it."
            raise KeyboardInterrupt(stopped) from None
        finally:
            shown.close()
        ended = self.show(run_id)
        if ended.state != "completed":
            reason = f": {ended.error.rstrip('.')}" if ended.error else ""
            raise RunFailedError(
                ended.error_code or "run-ended",
                f"Run {run_id[:12]} {ended.state} after {ended.rounds_done} of {ended.rounds} rounds{reason}.",
                ended,
            )
        return ended

    def _follow(self, run_id: str, shown: Progress) -> None:
        def lost(error: DpnmfError, pause: float) -> None:
            shown.note(f"The connection was lost ({error.sentence}); trying again in {pause:g} s.")

        for event in self.watch(run_id, on_retry=lost, on_learning=shown.learning):
            shown.event(event)

    # ---- Models ----

    def model(self, run: Run | str, *, errors: bool = False, parts: bool = False) -> Model:
        """The dictionary W of a run. `errors`: also its standard errors, which
        take the server a while. `parts`: also how reliable each part is."""
        run_id = self.run_id(run)
        replies = self._model_replies(run_id, errors=errors, parts=parts)
        header = self._header(replies)
        if header.HasField("item_model"):
            raise StateError("run-not-dictionary", "The run is on ratings and has no dictionary; use items().")
        rows, columns = header.shape.rows, header.shape.columns
        w, deviations = _matrices.Reader(rows, columns), _matrices.Reader(rows, columns)
        names: list[str] = []
        weights: list[float] = []
        facts: list[Part] = []
        for reply in replies:
            kind = reply.WhichOneof("message")
            if kind == "items":
                names += [item.id for item in reply.items.items]
                weights += reply.items.weights
            elif kind == "dictionary":
                w.add(reply.dictionary)
            elif kind == "standard_errors":
                deviations.add(reply.standard_errors)
            elif kind == "parts":
                facts += [Part(p.explained, p.reliability, p.noise) for p in reply.parts.parts]
        if names and len(names) != rows or facts and len(facts) != columns or weights and len(weights) != rows:
            raise _matrices.malformed()
        if header.dataset.weighted_features and not header.dataset.named_features:
            names = []  # rows without names are listed by their numbers
        return Model(
            run_id=run_id,
            w=w.take(),
            state=Run(analyst_pb2.Run(state=header.state)).state,
            rounds_done=header.rounds_done,
            names=names or None,
            errors=deviations.take() if errors else None,
            parts=facts or None,
            weights=np.asarray(weights) if weights else None,
            dataset=Dataset(header.dataset) if header.HasField("dataset") else None,
        )

    def items(self, run: Run | str, *, non_negative: bool | None = None) -> ItemModel:
        """The item model of a run on ratings. `non_negative`: with non-negative
        parts (True) or with factors of both signs (False), both from the same
        releases and free; None: as the run was started."""
        run_id = self.run_id(run)
        replies = self._model_replies(run_id, non_negative=non_negative)
        header = self._header(replies)
        if not header.HasField("item_model"):
            raise StateError("run-not-ratings", "The run has a dictionary and no items; use model().")
        ids: list[str] = []
        names: list[str] = []
        readers: dict[str, _matrices.Reader] = {}
        for reply in replies:
            if reply.HasField("items"):
                ids += [item.id for item in reply.items.items]
                names += [item.name for item in reply.items.items]
            elif reply.HasField("matrix"):
                piece = reply.matrix
                if piece.name not in readers:
                    readers[piece.name] = _matrices.Reader(piece.shape.rows, piece.shape.columns)
                readers[piece.name].add(piece.entries)
        if len(ids) != header.item_model.items:
            raise _matrices.malformed()
        return ItemModel(
            run_id=run_id,
            ids=ids,
            names=names,
            low=header.item_model.low,
            high=header.item_model.high,
            residual_stddev=header.item_model.residual_stddev,
            level=header.item_model.level,
            matrices={name: reader.take() for name, reader in readers.items()},
        )

    def _model_replies(
        self, run_id: str, errors: bool = False, parts: bool = False, non_negative: bool | None = None
    ) -> Iterator[Any]:
        request = analyst_pb2.GetModelRequest(
            run_id=run_id, standard_errors=errors, feature_names=True, parts=parts
        )
        if non_negative is not None:
            request.non_negative = non_negative
        return self._stream("GetModel", request)

    @staticmethod
    def _header(replies: Iterator[Any]) -> Any:
        first = next(replies, None)
        if first is None or not first.HasField("header"):
            raise _matrices.malformed()
        return first.header

    # ---- What a release is worth, once paid: all free ----

    def refit(
        self,
        run: Run | str,
        rank: int | None = None,
        *,
        seed: int = 0,
        init: Matrix | None = None,
        prior: Any = None,
    ) -> Run:
        """Fits another model to the paid release of a run; never charged. The
        same request is the same run. `init`: a public first
        dictionary, D x K. `prior`: as for `train`; None: those of the run;
        'none': without any."""
        refit = analyst_pb2.Refit(run_id=self.run_id(run))
        if rank is not None:
            refit.rank = _request.whole("rank", rank, 1, "rank-out-of-range")
        refit.learner.seed = _request.whole("seed", seed, 0, "usage")
        refit.learner.initialisation = (
            analyst_pb2.INITIALISATION_RANDOM if init is None else analyst_pb2.INITIALISATION_PUBLIC
        )

        refit.without_priors = isinstance(prior, str) and prior == "none"
        priors = [] if refit.without_priors else self._priors(prior)
        refit.priors.extend(one.header for one in priors)

        def messages() -> Iterator[Any]:
            yield analyst_pb2.RefitRunRequest(refit=refit)
            if init is not None:
                for chunk in _matrices.chunks(init):
                    yield analyst_pb2.RefitRunRequest(dictionary=chunk)
            for one in priors:
                yield from one.messages(analyst_pb2.RefitRunRequest)

        return Run(self._send("RefitRun", messages()))

    def export(
        self,
        run: Run | str,
        *,
        bundle: str | os.PathLike[str] | None = None,
        moments: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes the paid release of a run of moments to a file. `bundle`: the
        release as the curator has signed it, for `add_release` at another
        analyst. `moments`: the numbers to which W is fitted, a .npz. Both are
        already released, so nothing is charged."""
        if (bundle is None) == (moments is None):
            raise InputError("flags-conflict", "Give either `bundle` or `moments`, the file to write.")
        if moments is not None and not os.fspath(moments).lower().endswith(".npz"):
            raise InputError("file-type-unknown", "`moments` must end in .npz.")
        request = analyst_pb2.GetReleaseRequest(run_id=self.run_id(run), matrices=moments is not None)
        replies = self._stream("GetRelease", request)
        if bundle is not None:
            _releases.write_bundle(bundle, replies)
        else:
            assert moments is not None
            _releases.write_moments(moments, self._header(replies), replies)

    def add_release(self, path: str | os.PathLike[str]) -> Run:
        """Adds a release that another analyst has paid for: a file of
        `export(run, bundle=...)`. The server verifies the curator's signatures;
        nothing is charged."""
        return Run(self._send("AddRelease", _releases.read_bundle(path)))

    def choose(self, run: Run | str, ranks: Sequence[int] | None = None, *, seeds: int | None = None) -> RankChoice:
        """How many parts the release of a run supports, by the release only."""
        request = analyst_pb2.ChooseRankRequest(run_id=self.run_id(run))
        request.ranks.extend(_request.whole("ranks", r, 1, "rank-out-of-range") for r in ranks or ())
        if seeds is not None:
            request.seeds = _request.whole("seeds", seeds, 2, "usage")
        facts, choice = [], None
        for reply in self._stream("ChooseRank", request):
            if reply.HasField("facts"):
                facts.append(reply.facts)
            elif reply.HasField("choice"):
                choice = reply.choice
        if choice is None:
            raise _matrices.malformed()
        return RankChoice(facts, choice)

    def synthesise(self, run: Run | str, count: int, *, seed: int = 0) -> SyntheticPeople:
        """Draws synthetic people from the release of a run."""
        request = analyst_pb2.SynthesiseRequest(
            run_id=self.run_id(run),
            count=_request.whole("count", count, 1, "count-out-of-range"),
            seed=_request.whole("seed", seed, 0, "usage"),
        )
        replies = self._stream("Synthesise", request)
        header = self._header(replies)
        people = _matrices.Reader(header.count, header.features, by_rows=True)
        labels: list[int] = []
        for reply in replies:
            if reply.HasField("people"):
                people.add(reply.people)
            elif reply.HasField("labels"):
                labels += reply.labels.labels
        if header.classes and len(labels) != header.count:
            raise _matrices.malformed()
        return SyntheticPeople(
            people=people.take(),
            labels=np.asarray(labels, dtype=np.int64) if header.classes else None,
            classes=tuple(header.classes),
            integers=header.integers,
        )
