import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unbraid as ub
from unbraid.integrations.sklearn import scorer, scorers


@pytest.fixture(scope="module")
def world():
    """Two factors, seen through a rotation that PCA can undo, and three columns of noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (300, 2))
    data = np.column_stack([factors * [4.0, 1.5], 0.3 * rng.standard_normal((300, 3))])
    rotation, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    return data @ rotation, factors


def test_cross_validation_gives_the_score_of_each_fold(world):
    x, y = world
    pipeline = make_pipeline(StandardScaler(with_std=False), PCA(2))
    found = cross_val_score(pipeline, x, y, scoring=scorer("mig"), cv=3)
    assert found.shape == (3,)
    assert (found > 0.7).all()
    fitted = pipeline.fit(x[100:], y[100:])
    assert found[0] == float(ub.metrics.mig(fitted.transform(x[:100]), y[:100]))


class Turn(TransformerMixin, BaseEstimator):
    """Principal components, turned by an angle that undoes what PCA did."""

    def __init__(self, angle=0.0):
        self.angle = angle

    def fit(self, x, y=None):
        self.components_ = PCA(2).fit(x)
        return self

    def transform(self, x):
        c, s = np.cos(self.angle), np.sin(self.angle)
        return self.components_.transform(x) @ np.array([[c, -s], [s, c]])


def test_grid_search_finds_the_right_angle(world):
    search = GridSearchCV(Turn(), {"angle": [-0.6, 0.0, 0.3]}, scoring=scorer("dci_linear.disentanglement"), cv=3)
    assert search.fit(*world).best_params_ == {"angle": 0.0}


def test_several_scores_share_one_call_and_one_can_be_refitted(world):
    found = cross_validate(PCA(2), *world, scoring=scorers("mig,dci_linear"), cv=3)
    assert {key for key in found if key.startswith("test_")} == {
        "test_mig",
        "test_dci_linear.disentanglement",
        "test_dci_linear.completeness",
        "test_dci_linear.informativeness",
    }
    search = GridSearchCV(Turn(), {"angle": [0.7, 0.0]}, scoring=scorers("mig,r2"), refit="mig", cv=3)
    assert search.fit(*world).best_params_ == {"angle": 0.0}


def test_lower_is_better_is_negated_and_factors_are_not_needed(world):
    x, _ = world
    model = PCA(3).fit(x)
    assert scorer("total_correlation")(model, x, None) == -float(ub.metrics.total_correlation(model.transform(x)))


def test_options_and_seed_reach_the_metric(world):
    x, y = world
    model = PCA(2).fit(x)
    codes = model.transform(x)
    assert scorer("mig", n_bins=3)(model, x, y) == float(ub.metrics.mig(codes, y, n_bins=3))
    assert scorer("mig", n_bins=3)(model, x, y) != scorer("mig")(model, x, y)
    assert scorer("r2", seed=1)(model, x, y) == ub.evaluate(codes, y, metrics="r2", seed=1)["r2"].plain


def test_predict_and_encode_serve_where_there_is_no_transform(world):
    x, y = world
    model = LinearRegression().fit(x, y)
    assert scorer("mig")(model, x, y) == float(ub.metrics.mig(model.predict(x), y))


def test_survives_pickling_for_worker_processes(world):
    x, y = world
    model = PCA(2).fit(x)
    again = pickle.loads(pickle.dumps(scorer("mig", n_bins=7)))
    assert again(model, x, y) == scorer("mig", n_bins=7)(model, x, y)


def test_bad_names_and_failures_are_sentences(world):
    x, y = world
    with pytest.raises(
        ValueError, match=r"metric must name one score, got 'dci_linear', which stands for dci_linear\.dis"
    ):
        scorer("dci_linear")
    with pytest.raises(ValueError, match="Unknown metric 'migg'"):
        scorer("migg")
    with pytest.raises(ValueError, match="Unknown metric"):
        scorers("mig,nothing")
    with pytest.raises(ValueError, match="z_diff could not be scored"):
        scorer("z_diff")(PCA(2).fit(x), x, y[:, 0])
    with pytest.raises(TypeError, match="model must have encode, transform or predict, or be a function, got object"):
        scorer("mig")(object(), x, y)
