"""Refits, the choice of the rank and synthetic people, against a server in this
process that speaks the proto: what is asked for, and how answers are read."""

import concurrent.futures

import grpc
import numpy as np
import pytest
import sklearn.model_selection
from servers import people

from dpnmf import Client, DamagedError, InputError, PrivateNMF, RunFailedError, StateError, _matrices, plots
from dpnmf.v1 import analyst_pb2 as pb
from dpnmf.v1 import analyst_pb2_grpc, curator_pb2, privacy_pb2

PAID = "a" * 32


class Analyst(analyst_pb2_grpc.AnalystServiceServicer):
    """One paid run; refits end at once with a dictionary of their rank."""

    def __init__(self):
        self.asked, self.started = [], 0
        self.runs = {PAID: self.run(PAID, 2)}
        self.people_sent = 40_000

    @staticmethod
    def run(run_id, rank, parent="", state=pb.RUN_STATE_COMPLETED):
        message = pb.Run(run_id=run_id, state=state, parent=parent, rounds_done=1, started_by="dns:alice.client")
        parameters = message.specification.parameters
        parameters.dataset, parameters.rank, parameters.rounds, parameters.mechanism = "people", rank, 1, "moments"
        message.plan.stages.add(release="moments")
        return message

    def ListDatasets(self, request, context):
        reply = curator_pb2.ListDatasetsReply()
        reply.datasets.add(
            name="people", features=8, users=300, normalisation=curator_pb2.NORMALISATION_L2, column_bound=1, max_rank=8
        )
        return reply

    def ListRuns(self, request, context):
        return pb.ListRunsReply(runs=self.runs.values())

    def GetRun(self, request, context):
        return self.runs[request.run_id]

    def WatchRun(self, request, context):
        yield pb.RunEvent(cursor=1, state=self.runs[request.run_id].state, round=1, rounds=1)

    def StartRun(self, requests, context):
        self.started += 1
        context.abort(grpc.StatusCode.INTERNAL, "a run was started")

    def RefitRun(self, requests, context):
        messages = list(requests)
        refit = messages[0].refit
        self.asked.append(messages)
        if refit.rank > 8:
            detail = privacy_pb2.ErrorDetail(code="rank-out-of-range").SerializeToString()
            context.set_trailing_metadata((("grpc-status-details-bin", detail),))
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "`rank` must be from 1 to 8.")
        run_id = f"{refit.rank:02x}{refit.learner.seed:02x}".ljust(32, "0")
        state = pb.RUN_STATE_FAILED if refit.learner.seed == 13 else pb.RUN_STATE_COMPLETED
        self.runs[run_id] = self.run(run_id, refit.rank or 2, refit.run_id, state)
        return self.runs[run_id]

    def GetModel(self, request, context):
        rank = self.runs[request.run_id].specification.parameters.rank
        w = np.eye(8)[:, :rank]
        header = pb.ModelHeader(rounds_done=1, state=pb.RUN_STATE_COMPLETED)
        header.shape.rows, header.shape.columns = w.shape
        yield pb.ModelReply(header=header)
        for chunk in _matrices.chunks(w):
            yield pb.ModelReply(dictionary=chunk)
        if request.parts:
            facts = [pb.PartFacts(explained=0.5 / (k + 1), reliability=0.9 - 0.2 * k, noise=k > 0) for k in range(rank)]
            yield pb.ModelReply(parts=pb.PartsReply(parts=facts))

    def ChooseRank(self, request, context):
        self.asked.append(request)
        yield pb.ChooseRankReply(progress=0.5)
        for rank in request.ranks:
            yield pb.ChooseRankReply(facts=pb.RankFacts(rank=rank, stability=1 / rank, held_out=0.1, stable_parts=2))
        if request.seeds != 2:
            yield pb.ChooseRankReply(choice=pb.RankChoice(rank=2, expected=3, sentence="2 parts are stable."))

    def Synthesise(self, request, context):
        self.asked.append(request)
        header = pb.SynthesiseHeader(count=request.count, features=3, classes=["a", "b"], integers=True)
        yield pb.SynthesiseReply(header=header)
        entries = np.arange(request.count * 3.0)[: self.people_sent]
        for first in range(0, len(entries), 32_768):
            values = entries[first : first + 32_768].tolist()
            yield pb.SynthesiseReply(people={"offset": first, "values": values})
        yield pb.SynthesiseReply(labels=pb.SynthesiseLabels(labels=[n % 2 for n in range(request.count)]))


@pytest.fixture(scope="module")
def service(servers):
    """The service, and a client of it by mutual TLS."""
    files = servers.settings("analyst")
    key, certificate, ca = (open(files[name], "rb").read() for name in ("key", "cert", "ca"))
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    analyst = Analyst()
    analyst_pb2_grpc.add_AnalystServiceServicer_to_server(analyst, server)
    credentials = grpc.ssl_server_credentials([(key, certificate)], ca, require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    with Client(**{**servers.settings("alice"), "server": f"127.0.0.1:{port}"}) as client:
        yield analyst, client
    server.stop(None)


def test_a_refit_asks_for_rank_and_seed(service):
    analyst, client = service
    run = client.refit("aaaa", rank=3, seed=7)
    (message,) = analyst.asked[-1]
    assert (message.refit.run_id, message.refit.rank, message.refit.learner.seed) == (PAID, 3, 7)
    assert message.refit.learner.initialisation == pb.INITIALISATION_RANDOM
    assert run.parent == PAID
    assert "no charge" in repr(run)
    assert f"free, of {PAID[:12]}" in repr(client.runs())


def test_a_refit_sends_a_public_start(service):
    analyst, client = service
    start = np.arange(16.0).reshape(8, 2)
    client.refit(PAID, init=start)
    first, chunk = analyst.asked[-1]
    assert first.refit.rank == 0 and first.refit.learner.initialisation == pb.INITIALISATION_PUBLIC
    np.testing.assert_array_equal(np.reshape(chunk.dictionary.values, (8, 2), order="F"), start)


def test_refusals_of_a_refit(service):
    _, client = service
    for call in (lambda: client.refit(PAID, 9), lambda: client.refit(PAID, 0), lambda: client.refit(PAID, 2.5)):
        with pytest.raises(InputError, match="rank-out-of-range"):
            call()


def test_an_estimator_is_refitted_for_nothing(service):
    analyst, client = service
    model = PrivateNMF.from_run(PAID, client, progress=False)
    child = model.refit(rank=4)
    assert child.components_.shape == (4, 8) and child.release == PAID and child.run_.parent == PAID
    assert child.refit(seed=3).release == PAID
    with pytest.raises(RunFailedError):
        model.refit(seed=13)
    with pytest.raises(InputError, match="init-shape-mismatch"):
        model.refit(init=np.ones((8, 3)))
    assert analyst.started == 0


def test_a_grid_search_over_refits_is_free(service):
    analyst, client = service
    before = len(analyst.asked)
    search = sklearn.model_selection.GridSearchCV(
        PrivateNMF(release=PAID, client=client, progress=False), {"rank": [1, 2, 4]}, cv=2
    )
    search.fit(people(20))
    assert search.best_params_ == {"rank": 4} and search.transform(people(20)).shape == (20, 4)
    assert len(analyst.asked) == before + 7 and analyst.started == 0
    assert all(isinstance(messages[0], pb.RefitRunRequest) for messages in analyst.asked[before:])


def test_a_paid_release_is_found_whatever_the_rank(service):
    """The server in this process answers no PlanRun: nothing must be started."""
    analyst, client = service

    class Planned:
        accepted, message = True, pb.PlanRunReply()

    Planned.message.specification.CopyFrom(analyst.runs[PAID].specification)
    Planned.message.specification.parameters.rank = 5
    Planned.message.plan.stages.add(release="moments")
    def refused(spend_again=False):
        with pytest.raises(StateError) as caught:
            client._refuse_needless(Planned, client.runs(), spend_again)
        return caught.value.code

    assert refused() == "release-paid"
    Planned.message.specification.parameters.epsilon = 3
    assert refused() == "release-paid"
    client._refuse_needless(Planned, client.runs(), True)
    Planned.message.forecast.noise, Planned.message.forecast.reliable_parts = 1, 2
    assert refused(spend_again=True) == "run-unreliable"
    Planned.message.forecast.reliable_parts = 3
    client._refuse_needless(Planned, client.runs(), True)
    Planned.message.forecast.reliable_parts = 2
    Planned.message.specification.hopeless = True
    client._refuse_needless(Planned, client.runs(), True)
    Planned.message.specification.parameters.dataset = "others"
    client._refuse_needless(Planned, client.runs(), False)
    Planned.message.specification.parameters.dataset = "people"
    Planned.message.plan.stages.add(release="statistics")  # these depend on W
    client._refuse_needless(Planned, client.runs(), False)


def test_two_paid_releases_are_found_whatever_the_rank(service, monkeypatch):
    analyst, client = service
    held = pb.Run()
    held.CopyFrom(analyst.runs[PAID])
    held.specification.parameters.mechanism = "aimed"
    monkeypatch.setitem(analyst.runs, PAID, held)

    class Planned:
        accepted, message = True, pb.PlanRunReply()

    Planned.message.specification.CopyFrom(held.specification)
    Planned.message.specification.parameters.rank = 5
    Planned.message.plan.stages.add(release="moments")
    Planned.message.plan.stages.add(release="aimed")
    with pytest.raises(StateError, match="release-paid"):
        client._refuse_needless(Planned, client.runs(), False)


def test_parts_say_whether_they_are_noise(service):
    _, client = service
    parts = client.model(PAID, parts=True).parts
    assert [p.noise for p in parts] == [False, True] and parts[0].explained == 0.5
    assert client.model(PAID).parts is None


def test_the_choice_of_the_rank(service):
    analyst, client = service
    choice = client.choose(PAID, [2, 3], seeds=5)
    assert list(analyst.asked[-1].ranks) == [2, 3] and analyst.asked[-1].seeds == 5
    assert choice.rank == 2 and [f.rank for f in choice.facts] == [2, 3]
    assert "2 parts are stable." in repr(choice) and "0.500" in choice._repr_html_()
    assert plots.ranks(choice)._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(DamagedError):
        client.choose(PAID, seeds=2)


def test_synthetic_people_come_row_by_row(service):
    analyst, client = service
    drawn = client.synthesise(PAID, 12_000, seed=4)
    assert analyst.asked[-1].seed == 4 and drawn.people.shape == (12_000, 3)
    np.testing.assert_array_equal(drawn.people[:2], [[0, 1, 2], [3, 4, 5]])
    assert drawn.classes == ("a", "b") and list(drawn.labels[:3]) == [0, 1, 0] and drawn.integers
    with pytest.raises(DamagedError):
        client.synthesise(PAID, 20_000)  # it sends fewer
    with pytest.raises(InputError):
        client.synthesise(PAID, 0)
