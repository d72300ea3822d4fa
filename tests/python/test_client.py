"""Calls against the real servers."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from dpnmf import (
    BudgetError,
    Client,
    DpnmfError,
    InputError,
    NotFoundError,
    RunFailedError,
    StateError,
    TooFewPartsWarning,
)
from dpnmf._request import RunOptions, knob, specification_of


def code_of(kind, call, *arguments, **options):
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    sentence = caught.value.sentence
    assert sentence.endswith(".") and "\n" not in sentence
    assert str(caught.value) == f"{sentence} [{caught.value.code}]"
    return caught.value.code


@pytest.fixture(scope="module")
def paid(client):
    """A run that has ended; every test may read it."""
    return client.wait(client.train("people", rank=2, epsilon=8), progress=False)


def test_data_sets_are_listed(client):
    digits = client.dataset("digits")
    assert (digits.features, digits.users, digits.unit_length, digits.has_ratings) == (64, 1797, True, False)
    assert client.dataset("films").has_ratings
    assert "writers" in repr(client.datasets()) and "<td" in client.datasets()._repr_html_()
    assert "writers" in repr(digits)


def test_an_unknown_data_set_is_refused_with_those_on_offer(client):
    for call in (client.plan, client.train):
        with pytest.raises(NotFoundError) as caught:
            call("nobody", rank=2, epsilon=1)
        assert caught.value.code == "dataset-unknown" and "digits" in caught.value.sentence
    assert code_of(NotFoundError, client.budget, "nobody") == "dataset-unknown"


def test_a_plan_is_free(client, servers):
    before = servers.charges("writers")
    plan = client.plan("digits", rank=10, epsilon=4)
    assert plan.accepted and plan.mechanism == "aimed" and plan.epsilon <= 4
    assert plan.reliable_parts <= 10 and plan.forecast in repr(plan)
    assert "would be accepted" in plan._repr_html_()
    assert servers.charges("writers") == before


def test_a_plan_over_budget_says_so(client):
    plan = client.plan("digits", rank=10, epsilon=9)
    assert not plan.accepted and plan.refusal_code == "budget-exhausted"
    assert "would be refused" in repr(plan)


def test_a_run_over_budget_is_refused_and_not_kept(client, servers):
    before = servers.charges("writers"), len(client.runs())
    with pytest.raises(BudgetError) as caught:
        client.train("digits", rank=10, epsilon=9)
    assert caught.value.code == "budget-exhausted" and not caught.value.retriable
    assert "largest run" in caught.value.sentence
    assert (servers.charges("writers"), len(client.runs())) == before


def test_a_hopeless_run_is_refused(client):
    assert code_of(StateError, client.train, "digits", rank=10, epsilon=1e-6) == "run-hopeless"


@pytest.mark.parametrize(
    ("rank", "epsilon", "options", "code"),
    [
        (None, 1, {}, "usage"),
        (0, 1, {}, "rank-out-of-range"),
        (2.5, 1, {}, "rank-out-of-range"),
        (True, 1, {}, "rank-out-of-range"),
        (9, 1, {}, "rank-out-of-range"),
        (2, None, {}, "epsilon-out-of-range"),
        (2, 0, {}, "epsilon-out-of-range"),
        (2, float("nan"), {}, "epsilon-out-of-range"),
        (2, "1", {}, "epsilon-out-of-range"),
        (2, 1001, {}, "epsilon-out-of-range"),
        (2, 1, {"delta": 1}, "delta-out-of-range"),
        (2, 1, {"rounds": 0}, "rounds-out-of-range"),
        (2, 1, {"seed": -1}, "usage"),
        (2, 1, {"mechanism": "magic"}, "mechanism-unknown"),
        (2, 1, {"mechanism": None}, "mechanism-unknown"),
        (2, 1, {"outlier_threshold": 1}, "outliers-off"),
        (2, 1, {"step_size": 3}, "step-size-out-of-range"),
        (2, 1, {"inner_iterations": 0}, "inner-iterations-out-of-range"),
        (2, 1, {"share_of_a": "1"}, "share-out-of-range"),
        (2, 1, {"shares": 0.5}, "share-out-of-range"),
        (2, 1, {"shares": [0.5, 0.2, 0.1, 0.1, True]}, "share-out-of-range"),
        (2, 1, {"profile_directions": 2.5}, "profile-directions-out-of-range"),
        (2, 1, {"init": np.ones((3, 2))}, "init-shape-mismatch"),
        (2, 1, {"epsilom": 1}, "usage"),
        (2, 1, {"request_id": "a b"}, "usage"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(client, servers, rank, epsilon, options, code):
    before = servers.charges("group")
    assert code_of(InputError, client.train, "people", rank=rank, epsilon=epsilon, **options) == code
    assert servers.charges("group") == before


def test_the_same_request_is_the_same_run(client, servers, paid):
    before = servers.charges("group")
    assert client.train("people", rank=2, epsilon=8).run_id == paid.run_id
    assert client.train("people", rank=2, epsilon=8.0, seed=0).run_id == paid.run_id
    with Client(config=str(servers.config)) as another:
        assert another.train("people", rank=2, epsilon=8).run_id == paid.run_id
    assert servers.charges("group") == before


def test_a_release_is_not_paid_for_twice_by_chance(client, servers, paid):
    before = servers.charges("group")
    for options in ({"rank": 3}, {"rank": 2, "seed": 5}, {"rank": 2, "epsilon": 4}):
        with pytest.raises(StateError) as caught:
            client.train("people", **{"epsilon": 8, **options})
        assert caught.value.code == "release-paid" and paid.run_id[:12] in caught.value.sentence
    assert servers.charges("group") == before


def test_a_run_that_gives_little_is_refused(client, servers):
    before = servers.charges("group")
    with pytest.raises(StateError, match="even_if_unreliable=True") as caught:
        client.train("people", rank=8, epsilon=0.5, spend_again=True)
    assert caught.value.code == "run-unreliable" and servers.charges("group") == before


def test_a_request_id_pays_for_another_release_once(client, servers, paid):
    before = servers.charges("group")
    first = client.wait(client.train("people", rank=2, epsilon=8, request_id="another"), progress=False)
    again = client.train("people", rank=2, epsilon=8, request_id="another")
    assert first.run_id != paid.run_id and again.run_id == first.run_id
    assert servers.charges("group") == before + 2  # both releases of one run
    assert code_of(StateError, client.train, "people", rank=2, epsilon=4, request_id="another") == "request-differs"


def test_a_request_that_ended_uncharged_may_be_tried_again(client, servers):
    """Only a run that waits in the queue ends for sure without a charge."""
    long = client.train("people", rank=2, epsilon=1, rounds=3000)
    client.cancel(long)
    with pytest.raises(RunFailedError) as caught:
        client.wait(long, progress=False)
    ended = caught.value.run
    assert ended.state == "cancelled" and caught.value.code == "run-ended"
    again = client.train("people", rank=2, epsilon=1, rounds=3000)
    client.cancel(again)
    assert (again.run_id != long.run_id) == (ended.charged == 0)


def test_fewer_parts_than_asked_for_is_a_warning(client):
    with pytest.warns(TooFewPartsWarning, match="you asked for 8"):
        client.wait(client.train("people", rank=8, epsilon=0.5, even_if_unreliable=True, spend_again=True), progress=False)


def test_a_run_can_be_shown_by_its_first_digits(client, paid):
    assert client.show(paid.run_id[:12]).run_id == paid.run_id
    assert client.show(paid).state == "completed" and paid.ended
    assert "completed" in repr(client.show(paid)) and paid.run_id[:12] in client.runs()._repr_html_()


@pytest.mark.parametrize(
    ("run", "kind", "code"),
    [("", InputError, "run-id-malformed"), ("xyz", InputError, "run-id-malformed"), ("0" * 33, InputError, "run-id-malformed"),
     ("0" * 32, NotFoundError, "run-unknown"), ("0" * 31, NotFoundError, "run-unknown")],
)  # fmt: skip
def test_run_ids_that_name_nothing(client, run, kind, code):
    assert code_of(kind, client.show, run) == code


def test_an_ambiguous_id_is_refused(client, paid, monkeypatch):
    monkeypatch.setattr(client, "runs", lambda: [paid, copy.copy(paid)])
    assert code_of(InputError, client.show, paid.run_id[:4]) == "run-id-ambiguous"


def test_events_come_in_order_and_from_a_cursor(client, paid):
    events = list(client.watch(paid))
    assert [e.cursor for e in events] == sorted({e.cursor for e in events})
    assert events[-1].state == "completed" and events[-1].spent <= 8
    assert [e.cursor for e in client.watch(paid, events[0].cursor)] == [e.cursor for e in events[1:]]
    assert "completed" in repr(events[-1])


def test_a_watch_can_be_left_in_the_middle(client, paid):
    for event in client.watch(paid):
        break
    assert client.show(paid).run_id == paid.run_id


def test_the_model_is_that_of_the_program(client, servers, paid):
    model = client.model(paid)
    path = servers.work / "W.npy"
    servers.command("model", paid.run_id, "--output", path)
    np.testing.assert_array_equal(model.w, np.load(path))
    assert model.errors is None
    assert model.names == [f"name {d}" for d in range(8)] and model.rounds_done == 2


def test_a_large_model_comes_in_chunks(client):
    """64 x 64 and a public start of as many entries: below and above a chunk."""
    from dpnmf import _matrices

    matrix = np.arange(100_000.0).reshape(400, 250)
    reader = _matrices.Reader(400, 250)
    sizes = [reader.add(c) or len(c.values) for c in _matrices.chunks(matrix)]
    assert sizes == [32768, 32768, 32768, 1696]
    np.testing.assert_array_equal(reader.take(), matrix)


@pytest.mark.parametrize("skip", [0, 1, 3])
def test_a_missing_chunk_is_noticed(skip):
    from dpnmf import DamagedError, _matrices

    reader = _matrices.Reader(400, 250)
    with pytest.raises(DamagedError, match="model-malformed"):
        for i, chunk in enumerate(_matrices.chunks(np.zeros((400, 250)))):
            if i != skip:
                reader.add(chunk)
        reader.take()


def test_the_budget_is_that_of_the_program(client, paid):
    budget = client.budget("people")
    assert budget.agree and budget.own_charges == budget.mirror_charges >= 1
    assert budget.charged >= 8 and budget.largest_run < 200
    assert "agree" in repr(budget) and "of the cap charged" in budget._repr_html_()


def test_receipts_name_the_runs(client, paid):
    receipts = client.receipts("people")
    assert paid.run_id in {r.run_id for r in receipts} and all(r.signature for r in receipts)
    assert paid.run_id[:12] in repr(receipts)


def test_a_public_start_is_sent(client):
    run = client.train("people", rank=2, epsilon=1, init=np.full((8, 2), 0.35), rounds=2)
    assert client.wait(run, progress=False).mechanism == "statistics"


def test_items_of_a_run_on_ratings(client):
    run = client.wait(client.train("films", epsilon=4), progress=False)
    items = client.items(run)
    before = client.budget("films").charged
    parts = client.items(run, non_negative=True)
    assert parts.matrices["factors"].min() >= 0 > items.matrices["factors"].min() and parts.level > items.level == 0
    assert client.budget("films").charged == before
    assert len(items.ids) == 300 and items.matrices["base"].shape == (300, 1) and (items.low, items.high) == (1, 5)
    assert code_of(StateError, client.model, run) == "run-not-dictionary"


def test_knobs_of_ratings_are_sent(client):
    plan = client.plan("films", rank=8, epsilon=4, shares=(0.4, 0.3, 0.1, 0.1, 0.1), profile_directions=3)
    parameters = plan.message.specification.parameters
    assert list(parameters.shares) == [0.4, 0.3, 0.1, 0.1, 0.1] and parameters.profile_directions == 3


def test_a_knob_may_be_a_switch(client):
    @dataclasses.dataclass(frozen=True)
    class Options(RunOptions):
        outliers: bool | None = knob("")

    def asked(value):
        return specification_of(client.dataset("digits"), 2, 8, Options(outliers=value)).parameters.outliers

    assert asked(True) and not asked(False) and not asked(None)
    assert code_of(InputError, asked, 1) == "usage"


def test_a_dictionary_has_no_items(client, paid):
    assert code_of(StateError, client.items, paid) == "run-not-ratings"


def test_a_run_can_be_forgotten_and_its_charge_stays(client, servers):
    run = client.wait(client.train("people", rank=1, epsilon=0.6, even_if_unreliable=True, spend_again=True), progress=False)
    before = servers.charges("group")
    client.forget(run)
    assert code_of(NotFoundError, client.show, run.run_id) == "run-unknown"
    assert servers.charges("group") == before


def test_only_runs_that_have_ended_can_be_forgotten(client):
    run = client.train("people", rank=2, epsilon=2, rounds=3000)
    assert code_of(StateError, client.forget, run) == "run-not-ended"
    client.cancel(run)
    list(client.watch(run))


def test_a_client_survives_pickling_and_closing(client, paid):
    copied = pickle.loads(pickle.dumps(client))
    assert copied.show(paid).run_id == paid.run_id
    copied.close()
    assert copied.show(paid).run_id == paid.run_id
    assert copy.deepcopy(client) is client


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(BudgetError("budget-exhausted", "Ask for less.")))
    assert isinstance(error, DpnmfError) and str(error) == "Ask for less. [budget-exhausted]"


def test_progress_as_lines(client, paid, capsys):
    client.wait(paid, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith(f"run {paid.run_id[:12]}: completed 2/2, spent so far: epsilon 8")
    client.wait(paid)  # no terminal, no notebook
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("progress", [True, False, None])
def test_an_interrupt_stops_the_waiting_only(client, paid, monkeypatch, progress):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "watch", interrupted)
    with pytest.raises(KeyboardInterrupt, match=f"run {paid.run_id[:12]} continues"):
        client.wait(paid, progress=progress)
