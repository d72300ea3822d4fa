"""PrivateNMF: a dictionary of private data as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpnmf._base import BaseEstimator, NotFittedError, TransformerMixin
from dpnmf._least_squares import least_squares, normalised
from dpnmf._request import start_of
from dpnmf.client import Client
from dpnmf.errors import InputError, StateError
from dpnmf.results import Budget, Matrix, Plan, RankChoice, Run


class PrivateNMF(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learns the parts (W) of private columns V ~ W H.

    The data stay with the curator, so `fit()` takes none: it asks the analyst's
    server for a run, which costs budget, and waits for it. The same request is
    the same run: fitting again, or fitting a clone, spends nothing more.

    Parameters
    ----------
    dataset : name of the data set. `Client.datasets()` lists them. All others are
        given by name.
    rank : K, the number of parts. scikit-learn's name for it, `n_components`, does
        as well.
    epsilon : what the run may cost.
    delta, rounds, mechanism, seed, init, outliers, even_if_unreliable : see
        `RunOptions`.
    spend_again : pay although a paid release of the data set gives a model for free.
    prior : public knowledge that W is fitted with: a matrix of public people (a
        row each), a `Prior`, a run, 'run:ID', or a list of these. Free.
    request_id : names the request; None: a hash of it. Another name is another
        run, which is charged.
    server : HOST:PORT of the analyst's server; None: as `Client` finds it.
    release : a run that has paid for a release. With it nothing is asked of the
        curator and nothing is charged; `fit` then accepts an X and does not read
        it, so that pipelines and grid searches work.
    client : a `Client`; None: one is made from `server` and the environment.
    progress : None: a bar in notebooks and on terminals; True: lines elsewhere,
        too; False: nothing.

    Attributes
    ----------
    components_ : K x D, the transpose of W, as in scikit-learn.
    components_std_ : K x D, standard errors by the known noise; asked for at
        first use, which takes the server a while.
    budget_ : the budget of the population, as it is now.
    run_, run_id_, dataset_ : the run, its id, the facts about the data set.
    n_components_, n_features_in_, feature_names_in_ (where names are declared).
    """

    def __init__(
        self,
        dataset: str | None = None,
        *,
        rank: int | None = None,
        n_components: int | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        rounds: int | None = None,
        mechanism: str = "auto",
        seed: int = 0,
        init: Matrix | None = None,
        outliers: bool = False,
        even_if_unreliable: bool = False,
        spend_again: bool = False,
        prior: Any = None,
        request_id: str | None = None,
        server: str | None = None,
        release: str | None = None,
        client: Client | None = None,
        progress: bool | None = None,
    ) -> None:
        self.dataset = dataset
        self.rank = rank
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.rounds = rounds
        self.mechanism = mechanism
        self.seed = seed
        self.init = init
        self.outliers = outliers
        self.even_if_unreliable = even_if_unreliable
        self.spend_again = spend_again
        self.prior = prior
        self.request_id = request_id
        self.server = server
        self.release = release
        self.client = client
        self.progress = progress

    # ---- Learning ----

    def fit(self, X: Any = None, y: Any = None) -> PrivateNMF:
        """Asks for the run and waits for its end.

        InputError "fit-takes-no-data" for an X, unless `release` is given.
        RunFailedError if the run ends without a model. An interrupt stops the
        waiting only: `fit()` again continues it.
        """
        if self.release is not None:
            return self._fit_release()
        if X is not None:
            raise InputError(
                "fit-takes-no-data",
                "fit() takes no X: the private data stay with the curator, and each fit to them costs budget. "
                "Call fit() without X, and transform(X) for your own people; for a grid search or a pipeline give "
                "release=RUN, the id of a run that is paid for, which makes every fit free.",
            )
        client, dataset = self._client(), self._named_dataset()
        run = client.train(dataset, request_id=self.request_id, spend_again=self.spend_again, **self._asked())
        return self._take(client, client.wait(run, progress=self.progress))

    def _fit_release(self) -> PrivateNMF:
        client = self._client()
        assert self.release is not None
        rank, init = self._rank(), self.init
        if init is not None:
            paid = client.show(self.release)
            init = start_of(init, client.dataset(paid.dataset).features, rank or paid.rank)
        run = client.refit(self.release, rank, seed=self.seed, init=init, prior=self.prior)
        return self._take(client, client.wait(run, progress=self.progress))

    def plan(self) -> Plan:
        """What fit() would cost, and a forecast; free."""
        return self._client().plan(self._named_dataset(), **self._asked())

    @classmethod
    def from_run(cls, run: Run | str, client: Client | None = None, **params: Any) -> PrivateNMF:
        """The estimator of a run that exists, fitted to its present model."""
        client = client if client is not None else Client(params.get("server"))
        found = client.show(run)
        if params.get("n_components") is None:
            params = {"rank": found.rank, **params}
        model = cls(dataset=found.dataset, seed=found.seed, client=client, **params)
        if found.parent or found.added:
            model.release = found.parent or found.run_id
        else:
            model.epsilon, model.delta = found.epsilon, found.delta
            model.request_id = found.request_id or None
        return model._take(client, found)

    def refit(
        self,
        rank: int | None = None,
        *,
        seed: int | None = None,
        init: Matrix | None = None,
        prior: Any = None,
    ) -> PrivateNMF:
        """Another model of the release that this one has paid for; free. `prior`:
        None: as this one; 'none': without any."""
        self._check_fitted()
        if prior is None and self.release is not None:
            prior = self.prior  # else the run keeps its own
        name = "rank" if self.n_components is None else "n_components"  # as it was given
        named: dict[str, Any] = {name: self._rank() if rank is None else rank}
        model = PrivateNMF(
            server=self.server, dataset=self.dataset, **named,
            seed=self.seed if seed is None else seed, init=init, release=self.release or self.run_id_,
            prior=prior, client=self.client, progress=self.progress,
        )  # fmt: skip
        return model.fit()

    def choose(self, ranks: Any = None, *, seeds: int | None = None) -> RankChoice:
        """How many parts the release supports; free."""
        self._check_fitted()
        return self._client().choose(self.run_id_, ranks, seeds=seeds)

    def set_params(self, **params: Any) -> PrivateNMF:
        """As in scikit-learn; either name of the rank takes the place of the other."""
        for name, other in (("rank", "n_components"), ("n_components", "rank")):
            if params.get(name) is not None and other not in params:
                setattr(self, other, None)
        super().set_params(**params)
        return self

    def _rank(self) -> int | None:
        if self.rank is None or self.n_components is None:
            return self.n_components if self.rank is None else self.rank
        if self.rank != self.n_components:
            raise InputError(
                "usage", f"`rank` is {self.rank!r} and `n_components` is {self.n_components!r}: they are the same, so give one of them."
            )
        return self.rank

    def _asked(self) -> dict[str, Any]:
        names = ("epsilon", "delta", "rounds", "mechanism", "seed", "init", "outliers", "even_if_unreliable", "prior")
        return {"rank": self._rank(), **{name: getattr(self, name) for name in names}}

    def _named_dataset(self) -> str:
        if not isinstance(self.dataset, str):
            raise InputError("usage", "`dataset` is required: the name of a data set that Client.datasets() lists.")
        return self.dataset

    def _client(self) -> Client:
        if self.client is not None:
            return self.client
        made: tuple[str | None, Client] | None = self.__dict__.get("_made")
        if made is None or made[0] != self.server:
            made = self._made = (self.server, Client(self.server))
        return made[1]

    def _take(self, client: Client, run: Run) -> PrivateNMF:
        model = client.model(run)
        # The curator may offer the data set no longer, or never have offered it.
        self.dataset_ = model.dataset if model.dataset is not None else client.dataset(run.dataset)
        self.run_, self.run_id_ = run, run.run_id
        self.components_ = np.ascontiguousarray(model.w.T)
        self.n_components_, self.n_features_in_ = self.components_.shape
        for stale in ("_std", "feature_names_in_"):
            self.__dict__.pop(stale, None)
        self._weights = model.weights
        if model.names is not None:
            self.feature_names_in_ = np.asarray(model.names, dtype=object)
        return self

    # ---- What was learned ----

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFittedError("This PrivateNMF is not fitted yet; call fit().")

    @property
    def components_std_(self) -> Matrix:
        self._check_fitted()
        if "_std" not in self.__dict__:
            errors = self._client().model(self.run_id_, errors=True).errors
            assert errors is not None
            self._std: Matrix = np.ascontiguousarray(errors.T)
        return self._std

    @property
    def budget_(self) -> Budget:
        self._check_fitted()
        return self._client().budget(self.dataset_.name)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """privatenmf0, privatenmf1, ...: the names of the columns of H."""
        self._check_fitted()
        return np.asarray([f"privatenmf{k}" for k in range(self.n_components_)], dtype=object)

    # ---- Own people ----

    def transform(self, X: Any) -> Matrix:
        """H >= 0 (people x K) of the own people, rows of X: people x D.

        Computed here; X is sent nowhere. Rows are normalised as those of the
        data set were.
        """
        people = self._people(X)
        return least_squares(people, self.components_)

    def inverse_transform(self, H: Any) -> Matrix:
        """H W': people x D."""
        self._check_fitted()
        return np.asarray(np.asarray(H, dtype=np.float64) @ self.components_)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean share of a person's squared length that the parts explain."""
        people = self._people(X)
        whole = np.einsum("nd,nd->n", people, people)
        left = people - least_squares(people, self.components_) @ self.components_
        counted = whole > 0
        if not counted.any():
            return 0.0
        return float(1 - np.mean(np.einsum("nd,nd->n", left, left)[counted] / whole[counted]))

    def _people(self, X: Any) -> Matrix:
        self._check_fitted()
        X = self._in_order(X)
        dense = X.toarray() if hasattr(X, "toarray") else X
        try:
            people = np.asarray(dense, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("input-not-a-number", "X must contain only numbers.") from None
        if people.ndim != 2 or people.shape[1] != self.n_features_in_:
            shape = " x ".join(map(str, people.shape))
            raise InputError(
                "features-mismatch", f"X is {shape}; it must have a row for each person and {self.n_features_in_} features."
            )
        if not (np.isfinite(people) & (people >= 0)).all():
            raise InputError("input-negative", "X has an entry that is negative or not finite; correct it.")
        weights = getattr(self, "_weights", None)
        if self.dataset_.weighted and weights is None:
            raise StateError(
                "weights-missing",
                "The features of the data set have weights, and the analyst's server has not kept them: refit the run.",
            )
        return normalised(people, self.dataset_.unit_length, self.dataset_.column_bound, weights)

    def _in_order(self, X: Any) -> Any:
        """A frame whose columns have names, with its columns in the order of the features."""
        columns = list(getattr(X, "columns", ()))
        unnamed = [c for c in columns if not isinstance(c, str)]
        if len(unnamed) == len(columns) or not hasattr(self, "feature_names_in_"):
            return X
        if unnamed:
            raise InputError(
                "features-mismatch",
                f"X has columns with names and a column {unnamed[0]!r}, which is no name: name every column, or none.",
            )
        names = list(self.feature_names_in_)
        if columns == names:
            return X
        have, wanted = set(columns), set(names)
        lacking, strange = sorted(wanted - have), sorted(have - wanted)
        if lacking or strange or len(have) != len(columns):
            wrong = f"lacks {lacking[0]!r}" if lacking else f"has {strange[0]!r}" if strange else "has a column twice"
            raise InputError(
                "features-mismatch",
                f"X {wrong}; give one column for each feature of the data set (feature_names_in_), in any order.",
            )
        return X[names]

    # ---- To look at ----

    def top(self, words: int = 10) -> list[list[tuple[str, float]]]:
        """The largest features of each part, with their weights."""
        self._check_fitted()
        names = self._feature_names()
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :words]
        return [[(names[d], float(part[d])) for d in largest] for part, largest in zip(self.components_, order)]

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"#{d + 1}" for d in range(self.n_features_in_)] if names is None else [str(n) for n in names]

    def plot_parts(
        self, shape: tuple[int, int] | None = None, *, order: str = "row", words: int = 10, errors: bool = False
    ) -> Any:
        """Draws the parts with matplotlib and returns the figure.

        shape: rows and columns of a picture of D pixels, which follow one another
        along its rows or, with order="column", down its columns, as in MATLAB.
        Without it the largest features of each part are bars, with two standard
        errors if `errors`.
        """
        from dpnmf import plots

        self._check_fitted()
        if shape is not None:
            return plots.pictures(self.components_, shape, order)
        return plots.bars(self.components_, self._feature_names(), words, self.components_std_ if errors else None)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_made"}
