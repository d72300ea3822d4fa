"""What a paid release is worth, against the real servers: the choice of the rank,
synthetic people, files of releases. None of it is charged."""

import numpy as np
import pytest

from dpnmf import Client, DamagedError, InputError, NotFoundError, StateError, _releases
from dpnmf.v1 import analyst_pb2


@pytest.fixture(scope="module")
def paid(client, servers):
    run = client.wait(client.train("people", rank=2, epsilon=9, seed=5, spend_again=True), progress=False)
    before = servers.charges("group")
    yield run
    assert servers.charges("group") == before


def test_the_rank_is_chosen_from_the_release(client, paid, servers):
    choice = client.choose(paid, ranks=[1, 2], seeds=4)
    one, two = choice.facts
    assert (one.rank, two.rank) == (1, 2) and choice.rank == 2, choice.sentence
    assert two.stable_parts == 2 and two.stability > 0.9 and two.held_out > one.held_out + 0.2
    assert choice.sentence and choice.sentence in repr(choice)
    assert f'"choice":{{"rank":{choice.rank},' in servers.command(
        "choose", paid.run_id, "--rank", "1:2", "--seeds", "4", "--format", "json"
    )


def test_people_are_drawn_from_the_release(client, paid, servers, tmp_path):
    drawn = client.synthesise(paid, 3000, seed=3)
    assert drawn.people.shape == (3000, 8) and drawn.labels is None and drawn.people.min() >= 0
    lengths = np.linalg.norm(drawn.people, axis=1)
    assert lengths.max() < 1 + 1e-9  # as the data set is normalised
    np.testing.assert_array_equal(client.synthesise(paid, 3000, seed=3).people, drawn.people)
    assert (client.synthesise(paid, 3000, seed=4).people != drawn.people).any()
    servers.command("synthesise", paid.run_id, "--count", "3000", "--seed", "3", "--output", tmp_path / "p.csv")
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == ",".join(f"name {d}" for d in range(8))
    np.testing.assert_array_equal(np.loadtxt(lines[1:], delimiter=","), drawn.people)
    # Each real person has one of two parts of four features, and so have these.
    halves = drawn.people.reshape(-1, 2, 4).sum(2)
    assert (halves.max(1) > 3 * halves.min(1)).mean() > 0.8


def test_labelled_people_are_drawn_from_classes(client, servers):
    run = client.wait(client.train("labelled", rank=1, epsilon=8, mechanism="class_moments"), progress=False)
    drawn = client.synthesise(run, 400, seed=1)
    assert drawn.classes == ("even", "odd") and drawn.integers
    assert sorted(set(drawn.labels.tolist())) == [0, 1]
    assert drawn.people.min() >= 0 and drawn.people.max() <= 5
    np.testing.assert_array_equal(drawn.people, np.round(drawn.people))
    # The first four features are those of the even ones.
    first = drawn.people[:, :4].sum(1) > drawn.people[:, 4:].sum(1)
    assert (first == (drawn.labels == 0)).mean() > 0.9
    with pytest.raises(StateError, match="model-not-ready"):
        client.model(run)


def test_the_numbers_are_those_of_the_program(client, paid, servers, tmp_path):
    client.export(paid, moments=tmp_path / "own.npz")
    servers.command("export", paid.run_id, "--moments", "--output", tmp_path / "program.npz")
    with np.load(tmp_path / "own.npz") as own, np.load(tmp_path / "program.npz") as program:
        assert sorted(own) == sorted(program) and own["G"].shape == (8, 8)
        for name in own:
            np.testing.assert_array_equal(own[name], program[name], err_msg=name)


def test_a_bundle_is_that_of_the_program_and_is_added(client, paid, servers, tmp_path):
    client.export(paid, bundle=tmp_path / "own")
    servers.command("export", paid.run_id, "--bundle", tmp_path / "program")
    assert (tmp_path / "own").read_bytes() == (tmp_path / "program").read_bytes()
    assert client.add_release(tmp_path / "own").run_id == paid.run_id  # it is here already
    # Another analyst, which has the curator's key and never asks it.
    port = servers._start(
        "analyst", r"listens on 127\.0\.0\.1:(\d+)", "--state-dir", tmp_path / "state",
        "--curator", f"127.0.0.1:{servers.curator_port}", "--clients", servers.work / "clients.json",
        "--receipt-key", servers.work / "data" / "receipt.pub",
    )  # fmt: skip
    with Client(**{**servers.settings("alice"), "server": f"127.0.0.1:{port}"}) as other:
        added = other.wait(other.add_release(tmp_path / "own"), progress=False)
        assert added.run_id == paid.run_id
        np.testing.assert_array_equal(other.model(added).w, client.model(paid).w)
        changed = bytearray((tmp_path / "own").read_bytes())
        changed[-1] ^= 1
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(InputError, match="release-file-malformed"):
            other.add_release(tmp_path / "changed")


def test_files_that_are_no_releases(client, paid, tmp_path):
    with pytest.raises(NotFoundError, match="file-not-found"):
        client.add_release(tmp_path / "nowhere")
    with pytest.raises(NotFoundError, match="directory-not-found"):
        client.export(paid, bundle=tmp_path / "nowhere" / "file")
    for arguments in ({}, {"bundle": "a", "moments": "b.npz"}):
        with pytest.raises(InputError, match="flags-conflict"):
            client.export(paid, **arguments)
    with pytest.raises(InputError, match="file-type-unknown"):
        client.export(paid, moments=tmp_path / "release.npy")
    assert list(tmp_path.iterdir()) == []
    whole = [analyst_pb2.ReleaseReply(header=analyst_pb2.ReleaseHeader(version=1))]
    _releases.write_bundle(tmp_path / "file", whole)
    assert _releases.read_bundle(tmp_path / "file") == whole
    data = (tmp_path / "file").read_bytes()
    for cut in (b"", data[:20], data[:-1], data + b"\0"):
        (tmp_path / "cut").write_bytes(cut)
        with pytest.raises(InputError, match="release-file-malformed"):
            _releases.read_bundle(tmp_path / "cut")


def test_an_incomplete_release_leaves_no_file(tmp_path):
    with pytest.raises(DamagedError, match="model-malformed"):
        _releases.write_moments(tmp_path / "r.npz", None, iter(()))
    assert list(tmp_path.iterdir()) == []
