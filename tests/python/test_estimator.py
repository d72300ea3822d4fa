"""PrivateNMF: scikit-learn's conventions where they are true, refusals where
they would cost."""

import inspect
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas
import pytest
import scipy.optimize
import scipy.sparse
import sklearn.base
import sklearn.model_selection
import sklearn.pipeline
from servers import people
from sklearn.exceptions import NotFittedError

from dpnmf import Client, InputError, NotFoundError, Prior, PrivateNMF, RunFailedError


def estimator(client, **params):
    return PrivateNMF(dataset="people", rank=2, epsilon=12, spend_again=True, client=client, progress=False, **params)


@pytest.fixture(scope="module")
def model(client):
    return estimator(client).fit()


def test_the_shapes_are_those_of_scikit_learn(model):
    assert model.components_.shape == (2, 8) and model.n_components_ == 2 and model.n_features_in_ == 8
    assert (model.components_ >= 0).all()
    h = model.transform(people())
    assert h.shape == (300, 2) and (h >= 0).all()
    assert model.inverse_transform(h).shape == (300, 8)
    assert list(model.feature_names_in_) == [f"name {d}" for d in range(8)]
    assert list(model.get_feature_names_out()) == ["privatenmf0", "privatenmf1"]


def test_the_parts_are_those_of_the_data(model):
    assert model.score(people()) > 0.75  # of 1, and .5 with one part


def test_fitting_again_spends_nothing(client, servers, model):
    before = servers.charges("group")
    run = model.run_id_
    assert model.fit().run_id_ == run
    assert estimator(client).fit().run_id_ == run
    assert sklearn.base.clone(model).fit().run_id_ == run
    assert pickle.loads(pickle.dumps(model)).fit().run_id_ == run
    assert servers.charges("group") == before
    assert model.budget_.agree


def test_data_are_refused_with_the_reason(client, servers, model):
    before = servers.charges("group")
    fresh = estimator(client)
    for call in (fresh.fit, fresh.fit_transform):
        with pytest.raises(InputError) as caught:
            call(people())
        assert caught.value.code == "fit-takes-no-data" and "the private data stay with the curator" in str(caught.value)
    assert servers.charges("group") == before


def test_a_grid_search_that_would_spend_is_refused(client, servers):
    before = servers.charges("group"), len(client.runs())
    search = sklearn.model_selection.GridSearchCV(estimator(client), {"rank": [1, 2, 3]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="fit-takes-no-data|the private data stay"):
            search.fit(people())
    assert (servers.charges("group"), len(client.runs())) == before


def test_a_clone_is_not_fitted(model):
    clone = sklearn.base.clone(model)
    assert clone.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        clone.transform(people())
    for name in ("components_std_", "budget_"):
        with pytest.raises(NotFittedError):
            getattr(clone, name)


def test_transform_gives_what_the_program_gives(model, servers):
    new = servers.work / "new.npy"
    out = servers.work / "H.npy"
    np.save(new, people().astype(float))
    servers.command("transform", model.run_id_, "--input", new, "--output", out)
    np.testing.assert_allclose(model.transform(people()), np.load(out), atol=1e-9)


def test_transform_solves_non_negative_least_squares():
    from dpnmf._least_squares import least_squares

    random = np.random.default_rng(1)
    components, rows = random.random((6, 20)), random.random((50, 20))
    h = least_squares(rows, components)
    for row, solution in zip(rows, h):
        best, _ = scipy.optimize.nnls(components.T, row)
        np.testing.assert_allclose(solution, best, atol=1e-8)


def test_people_are_normalised_as_the_data_set_was():
    from dpnmf._least_squares import normalised

    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.3, 0.4]])
    np.testing.assert_allclose(normalised(rows, True, 1.0), [[0.6, 0.8], [0, 0], [0.6, 0.8]])
    np.testing.assert_allclose(normalised(rows, False, 1.0), [[0.6, 0.8], [0, 0], [0.3, 0.4]])


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (np.ones((3, 7)), "features-mismatch"),
        (np.ones(8), "features-mismatch"),
        (-np.ones((3, 8)), "input-negative"),
        (np.full((3, 8), np.nan), "input-negative"),
        ([["a"] * 8], "input-not-a-number"),
    ],
)
def test_people_that_do_not_fit_are_refused(model, rows, code):
    with pytest.raises(InputError) as caught:
        model.transform(rows)
    assert caught.value.code == code


def test_columns_are_matched_by_their_names(model):
    names = [f"name {d}" for d in range(8)]
    frame = pandas.DataFrame(people()[:5], columns=names)
    np.testing.assert_array_equal(model.transform(frame[names[::-1]]), model.transform(frame))
    assert model.score(frame[names[::-1]]) == model.score(frame)
    for columns, wrong in (
        (names[:7], "lacks 'name 7'"),
        ([*names[:7], "name 9"], "lacks 'name 7'"),
        ([*names, "age"], "has 'age'"),
        ([*names, "name 0"], "has a column twice"),
        ([*names[:7], 7], "has columns with names and a column 7"),
    ):
        with pytest.raises(InputError, match=f"X {wrong}[;,] .*features-mismatch"):
            model.transform(pandas.DataFrame(np.ones((3, len(columns))), columns=columns))


def test_all_but_the_data_set_is_named():
    for call in (PrivateNMF, Client.train, Client.plan):
        kinds = {p.name: p.kind for p in inspect.signature(call).parameters.values() if p.name != "self"}
        assert list(kinds)[0] == "dataset"
        assert {kind for name, kind in kinds.items() if name != "dataset"} <= {
            inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}  # fmt: skip
    assert PrivateNMF("visits", rank=5).dataset == "visits"
    with pytest.raises(TypeError):
        PrivateNMF("visits", 5, 1)


def test_the_rank_has_the_name_of_scikit_learn(client, model):
    assert PrivateNMF("people", n_components=2, epsilon=12, client=client).plan().rank == 2
    search = sklearn.model_selection.GridSearchCV(
        PrivateNMF(release=model.run_id_, client=client, progress=False), {"n_components": [1, 2]}, cv=2
    ).fit(people())
    assert search.best_estimator_.components_.shape[0] == search.best_params_["n_components"]
    assert PrivateNMF("people", rank=2, n_components=2, epsilon=12, client=client).plan().rank == 2
    with pytest.raises(InputError, match="`rank` is 2 and `n_components` is 3"):
        PrivateNMF("people", rank=2, n_components=3, epsilon=12, client=client).plan()
    # The name that was used stays, and either takes the place of the other.
    one = PrivateNMF(release=model.run_id_, n_components=2, client=client, progress=False).fit()
    assert (one.refit(3).rank, one.refit(3).n_components, one.refit().n_components) == (None, 3, 2)
    taken = PrivateNMF.from_run(model.run_id_, client)
    search = sklearn.model_selection.GridSearchCV(one.refit().set_params(rank=2), {"n_components": [1, 2]}, cv=2)
    assert search.fit(people()).best_estimator_.rank is None
    assert (taken.rank, taken.set_params(n_components=3).rank, taken.n_components) == (2, None, 3)
    assert PrivateNMF.from_run(model.run_id_, client, n_components=2).rank is None


def test_features_without_names_have_the_numbers_of_the_program(model):
    nameless = sklearn.base.clone(model)
    nameless.components_, nameless.n_features_in_ = model.components_, 8
    assert {name for part in nameless.top(8) for name, _ in part} == {f"#{d}" for d in range(1, 9)}


def test_a_zero_person_has_no_parts(model):
    assert (model.transform(np.zeros((1, 8))) == 0).all()
    assert model.score(np.zeros((1, 8))) == 0


def test_pandas_in_and_out(client, model):
    frame = pandas.DataFrame(people()[:5], columns=[f"name {d}" for d in range(8)], index=list("abcde"))
    out = PrivateNMF.from_run(model.run_id_, client).set_output(transform="pandas").transform(frame)
    assert list(out.columns) == ["privatenmf0", "privatenmf1"] and list(out.index) == list("abcde")
    np.testing.assert_array_equal(out.to_numpy(), model.transform(frame))


def test_sparse_people(model):
    import scipy.sparse

    np.testing.assert_array_equal(model.transform(scipy.sparse.csr_matrix(people())), model.transform(people()))


def test_standard_errors_are_asked_for_once(client, model, monkeypatch):
    assert "_std" not in vars(model)
    errors = model.components_std_
    assert errors.shape == (2, 8) and (errors > 0).any()
    monkeypatch.setattr(client, "model", None)
    assert model.components_std_ is errors


def test_an_existing_run_can_be_taken_up(client, model):
    again = PrivateNMF.from_run(model.run_id_[:12], client)
    np.testing.assert_array_equal(again.components_, model.components_)
    with pytest.raises(NotFoundError):
        PrivateNMF.from_run("0" * 32, client)


def test_top_names_the_features(model):
    tops = model.top(4)
    found = {frozenset(name for name, _ in part) for part in tops}
    assert found == {frozenset(f"name {d}" for d in part) for part in (range(4), range(4, 8))}
    assert all(weights == sorted(weights, reverse=True) for weights in ([w for _, w in part] for part in tops))


def test_plots(model):
    pictures = model.plot_parts(shape=(2, 4))
    assert [axis.get_title() for axis in pictures.axes] == ["Part 1", "Part 2"]
    np.testing.assert_array_equal(pictures.axes[0].images[0].get_array(), model.components_[0].reshape(2, 4))
    down = model.plot_parts(shape=(2, 4), order="column")
    np.testing.assert_array_equal(down.axes[1].images[0].get_array(), model.components_[1].reshape(4, 2).T)
    with pytest.raises(InputError, match="order-unknown"):
        model.plot_parts(shape=(2, 4), order="F")
    bars = model.plot_parts(words=3, errors=True)
    assert len(bars.axes[0].patches) == 3
    with pytest.raises(InputError, match="shape-mismatch"):
        model.plot_parts(shape=(3, 3))


def test_a_plan_of_the_estimator_is_free(client, servers):
    before = servers.charges("group")
    assert PrivateNMF(dataset="people", rank=3, epsilon=0.7, client=client).plan().rank == 3
    assert servers.charges("group") == before


def test_a_data_set_must_be_named(client):
    with pytest.raises(InputError, match="`dataset` is required"):
        PrivateNMF(rank=2, epsilon=1, client=client).fit()


def test_a_failed_run_says_how_it_ended(client):
    run = client.train("people", rank=2, epsilon=1.5, rounds=3000)
    client.cancel(run)
    with pytest.raises(RunFailedError, match="cancelled after"):
        client.wait(run, progress=False)


def test_a_refit_is_free_and_the_same_again(client, servers, model):
    before = servers.charges("group")
    child = model.refit(rank=3, seed=4)
    assert child.components_.shape == (3, 8) and child.run_.parent == model.run_id_
    np.testing.assert_array_equal(model.refit(rank=3, seed=4).components_, child.components_)
    assert sklearn.base.clone(child).fit().run_id_ == child.run_id_
    assert f"free, of {model.run_id_[:12]}" in repr(client.runs())
    assert servers.charges("group") == before and model.budget_.agree


def test_a_grid_search_over_a_paid_release_is_free(client, servers, model):
    before = servers.charges("group")
    search = sklearn.model_selection.GridSearchCV(
        PrivateNMF(release=model.run_id_, client=client, progress=False), {"rank": [1, 2]}, cv=2
    )
    assert search.fit(people()).best_params_ == {"rank": 2}
    assert servers.charges("group") == before


def test_the_environment_is_enough(servers, model):
    """No client is given: server and certificates come from the environment."""
    code = (
        "from dpnmf import PrivateNMF\n"
        "print(PrivateNMF(dataset='people', rank=2, epsilon=12).fit().run_id_)"
    )
    settings = {f"DPNMF_{name.upper()}": value for name, value in servers.settings("alice").items()}
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True)
    assert done.stdout.strip() == model.run_id_, done.stderr


WITHOUT_SKLEARN = """
import sys
sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
from dpnmf import PrivateNMF
model = PrivateNMF(dataset="people", rank=2)
model.set_params(epsilon=12)
assert model.get_params()["epsilon"] == 12 and "rank=2" in repr(model)
try:
    model.transform([[1] * 8])
except ValueError as error:
    assert "not fitted" in str(error)
try:
    model.set_params(rnak=2)
except ValueError as error:
    assert "rnak" in str(error)
print(model.fit().run_id_, model.transform([[1] * 8]).shape)
"""


def test_scikit_learn_is_not_needed(servers, model, monkeypatch):
    monkeypatch.setenv("DPNMF_CONFIG", str(servers.config))
    done = subprocess.run([sys.executable, "-c", WITHOUT_SKLEARN], capture_output=True, text=True)
    assert done.stdout.strip() == f"{model.run_id_} (1, 2)", done.stderr


def test_own_people_are_weighted_as_the_data_set_is(client, servers, tmp_path):
    weights = 1 + np.arange(8) / 4
    assert client.dataset("weighted").weighted and not client.dataset("people").weighted
    fitted = PrivateNMF(dataset="weighted", rank=2, epsilon=12, client=client, progress=False).fit()
    own = people(50)
    scaled = own * weights
    scaled = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    expected = np.array([scipy.optimize.nnls(fitted.components_.T, v)[0] for v in scaled])
    assert np.allclose(fitted.transform(own), expected, atol=1e-6)
    again = pickle.loads(pickle.dumps(fitted)).refit(rank=2)
    assert np.allclose(again.transform(own), expected, atol=1e-6)
    np.savetxt(tmp_path / "own.csv", own, fmt="%d", delimiter=",")
    servers.command("transform", fitted.run_id_, "--input", tmp_path / "own.csv", "--output", tmp_path / "h.npy")
    assert np.allclose(np.load(tmp_path / "h.npy"), expected, atol=1e-6)


def test_weights_travel_with_a_release(client, tmp_path):
    run = PrivateNMF(dataset="weighted", rank=2, epsilon=12, client=client, progress=False).fit().run_id_
    client.export(run, moments=tmp_path / "g.npz")
    assert np.array_equal(np.load(tmp_path / "g.npz")["weights"], 1 + np.arange(8) / 4)


def test_a_prior_changes_the_fit_and_nothing_else(client, servers, model):
    before = servers.charges("group")
    public = people(40)
    bent = model.refit(prior=public)
    assert bent.run_.message.specification.priors[0].shape.rows == 8
    assert bent.run_id_ != model.run_id_ and servers.charges("group") == before
    assert model.refit(prior=public).run_id_ == bent.run_id_  # the same request
    assert bent.refit(rank=3).run_.message.specification.priors[0].sha256  # it keeps its prior
    assert not bent.refit(rank=3, prior="none").run_.message.specification.priors
    by_name = Prior.people(pandas.DataFrame(public[:, ::-1], columns=[f"name {d}" for d in range(8)][::-1]))
    turned = model.refit(prior=by_name)
    assert np.allclose(turned.components_, bent.components_)  # matched by name
    sparse = model.refit(prior=scipy.sparse.csr_matrix(public))
    assert np.allclose(sparse.components_, bent.components_)
    assert servers.charges("group") == before


def test_a_prior_is_a_run_parts_or_a_moment(client, servers, model):
    before = servers.charges("group")
    parts = Prior.parts(model.components_)
    for prior in (model.run_, f"run:{model.run_id_[:8]}", parts, [parts, model.run_], Prior.moment(np.eye(8))):
        assert model.refit(rank=2, prior=prior).components_.shape == (2, 8)
    assert servers.charges("group") == before
    fresh = PrivateNMF(dataset="people", rank=2, epsilon=11, prior=parts, spend_again=True, client=client, progress=False).fit()
    assert fresh.run_.message.specification.priors and servers.charges("group") == before + 1
    assert sklearn.base.clone(fresh).fit().run_id_ == fresh.run_id_
    assert servers.charges("group") == before + 1


@pytest.mark.parametrize(
    "prior, code",
    [
        ("file.npy", "prior-kind-unknown"),
        (-np.ones((3, 8)), "prior-negative"),
        (np.full((3, 8), np.nan), "prior-not-finite"),
        (np.ones(8), "prior-shape-invalid"),
        (np.ones((3, 7)), "prior-features-differ"),
        ("run:" + "0" * 32, "run-unknown"),
    ],
)
def test_a_prior_that_is_none_is_refused(servers, model, prior, code):
    before = servers.charges("group")
    with pytest.raises(Exception) as refused:
        model.refit(prior=prior)
    assert refused.value.code == code
    with pytest.raises(Exception) as refused:
        Prior.people(np.ones((3, 8)), names=["one"])
    assert refused.value.code == "prior-shape-invalid"
    assert servers.charges("group") == before
