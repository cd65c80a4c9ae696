"""Ladders of probes: what each level is, against closed forms and against scikit-learn."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from unbraid import Representation
from unbraid.probes.capacity import (
    CapacityLevel,
    CapacityTask,
    EstimatorLadder,
    ForestLadder,
    FourierLadder,
    LinearLadder,
    MLPLadder,
    as_ladder,
)
from unbraid.probes.capacity.forest import _with_levels
from unbraid.probes.capacity.fourier import _best_ridges, _Features, _moments
from unbraid.probes.splits import Split, capacity_split, standardise
from unbraid.probes.trees import Tree
from unbraid.representation.factor import make_factor


def bent_world(n_samples=600, seed=0):
    """Four codes; a number, a category and an angle that depend on them in ways a line only half sees."""
    rng = np.random.default_rng(seed)
    codes = rng.standard_normal((n_samples, 4))
    factors = {
        "number": codes[:, 0] ** 2 + codes[:, 1] + 0.1 * rng.standard_normal(n_samples),
        "category": np.array(["a", "b", "c"])[np.digitize(codes[:, 2] + codes[:, 0], [-0.7, 0.7])],
        "angle": np.arctan2(codes[:, 2], codes[:, 3]),
    }
    return Representation(codes, factors, kinds={"angle": "circular"})


def task_of(rep, seed=0):
    split = capacity_split(rep.factors, rep.n_samples, rng=np.random.default_rng(seed))
    return CapacityTask(
        codes=standardise(rep.codes[split.train], rep.codes)[1], factors=tuple(rep.factors), split=split
    )


WORLD = bent_world()
TASK = task_of(WORLD)
TRAIN, TEST = TASK.split.train, TASK.split.test
NUMBER, CATEGORY, ANGLE = TASK.factors
QUICK = {
    "forest": ForestLadder(depths=(1, 3, 6), n_trees=10),
    "fourier": FourierLadder(n_features=(8, 32, 128)),
    "linear": LinearLadder(),
    "mlp": MLPLadder(widths=(2, 8), n_steps=60),
    "estimators": EstimatorLadder(
        levels=(
            CapacityLevel(capacity=1, regressor=LinearRegression(), classifier=LogisticRegression()),
            CapacityLevel(capacity=2, regressor=DecisionTreeRegressor(), classifier=DecisionTreeClassifier()),
        )
    ),
}
every_ladder = pytest.mark.parametrize("ladder", QUICK.values(), ids=QUICK)


def fitted(ladder, task=TASK, seed=0):
    return ladder.fit(task, rng=np.random.default_rng(seed))


class TestEveryLadder:
    @every_ladder
    def test_predicts_every_kind_on_every_rung(self, ladder):
        found = fitted(ladder)
        n_levels = found.capacities.shape[1]
        assert found.capacities.shape[0] == 3
        assert (np.diff(found.capacities, axis=1) > 0).all()
        for predicted, rows in ((found.validation, TASK.split.validation), (found.test, TEST)):
            assert [part.shape for part in predicted] == [(n_levels, len(rows), width) for width in (1, 3, 2)]
            np.testing.assert_allclose(predicted[1].sum(axis=2), 1.0, atol=1e-6)
            assert (predicted[1] >= 0).all()

    @every_ladder
    def test_the_probe_of_a_level_predicts_what_the_fit_did(self, ladder):
        found = fitted(ladder)
        for level in range(found.capacities.shape[1]):
            again = found.probe(level).predict(TASK.codes[TEST])
            for k in range(3):
                np.testing.assert_allclose(again[k], found.test[k][level], atol=1e-5)

    @every_ladder
    def test_same_seed_same_predictions(self, ladder):
        for one, two in zip(fitted(ladder).test, fitted(ladder).test, strict=True):
            np.testing.assert_array_equal(one, two)

    @pytest.mark.slow
    @every_ladder
    def test_labels_of_held_out_rows_are_not_seen(self, ladder):
        hidden = Representation(
            WORLD.codes,
            {
                "number": _without(NUMBER.numbers, TEST),
                "category": _without(np.array(CATEGORY.levels, dtype=object)[CATEGORY.labels], TEST),
                "angle": _without(ANGLE.numbers, TEST),
            },
            kinds={"angle": "circular"},
        )
        blind = CapacityTask(codes=TASK.codes, factors=tuple(hidden.factors), split=TASK.split)
        for one, two in zip(fitted(ladder).test, fitted(ladder, blind).test, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-5)

    @every_ladder
    def test_unlabelled_rows_are_not_fitted_on(self, ladder):
        """Their codes are moved far away, which must change no probe."""
        hidden = TRAIN[::3]
        factor = make_factor(_without(NUMBER.numbers, hidden), name="number")
        codes = TASK.codes.copy()
        codes[hidden] = 10 * np.random.default_rng(1).standard_normal((len(hidden), 4))
        near, far = (CapacityTask(codes=x, factors=(factor,), split=TASK.split) for x in (TASK.codes, codes))
        if isinstance(ladder, LinearLadder):  # its directions are those of all rows; with all of them, none is left out
            ladder = LinearLadder(n_directions=(3, 4))
            np.testing.assert_allclose(fitted(ladder, near).test[0][-1], fitted(ladder, far).test[0][-1], atol=1e-3)
        elif isinstance(ladder, MLPLadder):  # its networks see the codes along the axes of all rows
            np.testing.assert_allclose(fitted(ladder, near).test[0][0], fitted(ladder, far).test[0][0], atol=1e-3)
        else:
            np.testing.assert_allclose(fitted(ladder, near).test[0], fitted(ladder, far).test[0], atol=1e-5)


def _without(values, rows):
    column = np.array(values, dtype=object)
    column[rows] = None
    return column if isinstance(values[0], str) else column.astype(float)


class TestForest:
    @pytest.mark.parametrize("depth", [1, 2, 4, 9])
    def test_a_tree_cut_at_a_depth_is_the_tree_grown_to_it(self, depth):
        """Exactly: without a bootstrap, ties or codes left out, growth does not depend on chance."""
        x, y = TASK.codes[TRAIN].astype(np.float32), NUMBER.targets(TRAIN)
        deep, shallow = (
            DecisionTreeRegressor(max_depth=d, min_samples_leaf=8, random_state=0).fit(x, y) for d in (9, depth)
        )
        tree = _with_levels(Tree(deep.tree_, deep.tree_.value[:, :, 0]))
        rows = TASK.codes[TEST].astype(np.float32)
        np.testing.assert_allclose(tree.values[tree.cut(depth)[deep.tree_.apply(rows)]][:, 0], shallow.predict(rows))
        np.testing.assert_allclose(tree.importance(depth), shallow.feature_importances_)

    @pytest.mark.parametrize("factor", [NUMBER, CATEGORY], ids=lambda factor: factor.name)
    def test_scores_and_importances_are_those_of_scikit_learn(self, factor):
        ladder = ForestLadder(depths=(2, 8), n_trees=60)
        task = CapacityTask(codes=TASK.codes, factors=(factor,), split=TASK.split)
        found = fitted(ladder, task)
        y = factor.targets(TRAIN)[:, 0] if factor.is_numeric else factor.labels[TRAIN]
        for level, depth in enumerate(ladder.depths):
            forest = RandomForestRegressor if factor.is_numeric else RandomForestClassifier
            peer = forest(60, max_depth=depth, max_features=None, random_state=0).fit(TASK.codes[TRAIN], y)
            said = (
                peer.predict(TASK.codes[TEST])[:, None] if factor.is_numeric else peer.predict_proba(TASK.codes[TEST])
            )
            assert np.abs(found.test[0][level] - said).mean() < 0.08 * factor.targets(TEST).std()
            np.testing.assert_allclose(found.probe(level).weights[:, 0], peer.feature_importances_, atol=0.04)

    @pytest.mark.slow
    def test_errors_of_importances_match_their_scatter(self):
        ladder = ForestLadder(depths=(2, 4), n_trees=12)
        probes = [fitted(ladder, seed=seed).probe(1) for seed in range(12)]
        scatter = np.std([probe.weights for probe in probes], axis=0, ddof=1)
        said = np.mean([probe.weights_error for probe in probes], axis=0)
        assert said.sum() == pytest.approx(scatter.sum(), rel=0.35)

    def test_a_value_not_drawn_has_probability_0(self):
        factor = make_factor(
            np.where(np.arange(600) == TEST[0], "c", np.where(WORLD.codes[:, 0] > 0, "a", "b")), name="f"
        )
        task = CapacityTask(codes=TASK.codes, factors=(factor,), split=TASK.split)
        assert (fitted(QUICK["forest"], task).test[0][:, :, 2] == 0).all()

    def test_codes_tried_at_a_split(self):
        loose, strict = (ForestLadder(depths=(1, 2), n_trees=30, codes_tried=how) for how in ("all", "scikit-learn"))
        task = CapacityTask(codes=TASK.codes, factors=(CATEGORY,), split=TASK.split)
        # With two of four codes to choose from, a useless code is split on now and then.
        assert fitted(loose, task).probe(0).weights[1, 0] == 0.0
        assert fitted(strict, task).probe(0).weights[1, 0] > 0.0


class TestLinear:
    def test_the_last_level_reads_all_codes_as_least_squares_does(self):
        found = fitted(LinearLadder())
        np.testing.assert_allclose(np.exp(found.capacities[0]), [1, 2, 4])
        for k, factor in ((0, NUMBER), (2, ANGLE)):
            peer = LinearRegression().fit(TASK.codes[TRAIN], factor.targets(TRAIN))
            np.testing.assert_allclose(found.test[k][-1], peer.predict(TASK.codes[TEST]), atol=1e-4)
            weights = np.abs(peer.coef_).sum(axis=0)
            np.testing.assert_allclose(found.probe(2).weights[:, k], weights, atol=1e-4)

    def test_a_level_reads_the_leading_directions_only(self):
        rng = np.random.default_rng(0)
        strong, weak = rng.standard_normal((2, 400))
        shared = np.stack([strong + 0.1 * rng.standard_normal(400) for _ in range(5)], axis=1)
        rep = Representation(np.column_stack([shared, weak]), {"strong": strong, "weak": weak})
        losses = _losses(fitted(LinearLadder(n_directions=(1, 2)), task_of(rep)), task_of(rep))
        assert losses[0, 0] < 0.05
        assert losses[1, 0] > 0.9
        assert losses[1, 1] < 0.05

    def test_more_codes_than_rows(self):
        rng = np.random.default_rng(0)
        signal = rng.standard_normal(150)
        codes = signal[:, None] * rng.standard_normal(400) + rng.standard_normal((150, 400))
        task = task_of(Representation(codes, {"signal": signal}))
        found = fitted(LinearLadder(), task)
        assert np.exp(found.capacities[0, -1]) == pytest.approx(89)  # 90 rows about their mean
        assert _losses(found, task)[0].max() < 0.1

    def test_a_sketch_of_very_many_directions_agrees_with_the_exact_ones(self, monkeypatch):
        exact = fitted(LinearLadder(n_directions=(1, 4)))
        monkeypatch.setattr("unbraid.probes.linear.EXACT_UP_TO", 1)
        np.testing.assert_allclose(fitted(LinearLadder(n_directions=(1, 4))).test[0], exact.test[0], atol=1e-4)

    def test_one_direction_makes_no_ladder(self):
        with pytest.raises(ValueError, match=r"needs at least two levels, but 4 direction\(s\) leave 1"):
            fitted(LinearLadder(n_directions=(2, 8)))


def _losses(found, task):
    return np.stack(
        [
            ((said - factor.targets(task.split.test)) ** 2).mean(axis=(1, 2)) / factor.targets(task.split.test).var()
            for said, factor in zip(found.test, task.factors, strict=True)
        ]
    )


class TestFourier:
    def test_levels_are_nested(self):
        short, tall = (_Features(4, n, 1.0, np.random.default_rng(0)) for n in (128, 128))
        np.testing.assert_array_equal(short(TASK.codes)[:, :9], tall(TASK.codes)[:, :9])
        assert (short(TASK.codes)[:, 0] == 1).all()

    def test_cosines_make_a_gaussian_kernel(self):
        features = _Features(4, 20_000, 1.5, np.random.default_rng(0))
        a, b = features(TASK.codes[:5])[:, 1:], features(TASK.codes[5:10])[:, 1:]
        squared = ((TASK.codes[:5] - TASK.codes[5:10]) ** 2).sum(axis=1)
        np.testing.assert_allclose((a * b).mean(axis=1), np.exp(-squared * 1.5**2 / 4 / 2), atol=0.03)

    def test_coefficients_are_those_of_a_ridge(self, monkeypatch):
        strength = 1e-3
        monkeypatch.setattr("unbraid.probes.capacity.fourier.STRENGTHS", (strength,))
        features = _Features(4, 32, 1.0, np.random.default_rng(0))
        gram, moments = _moments(features, TASK, [NUMBER, ANGLE])
        mapped, validation = features(TASK.codes[TRAIN]), features(TASK.codes[TASK.split.validation])
        found = _best_ridges(gram, moments, 16, validation, [NUMBER, ANGLE], TASK.split.validation)
        for weights, factor in zip(found, (NUMBER, ANGLE), strict=True):
            peer = Ridge(alpha=strength * len(TRAIN)).fit(mapped[:, 1:17], factor.targets(TRAIN))
            np.testing.assert_allclose(weights[1:], peer.coef_.reshape(-1, 16).T, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(weights[0], peer.intercept_, rtol=1e-4, atol=1e-5)

    def test_strength_is_chosen_on_the_validation_rows(self, monkeypatch):
        noisy = Representation(WORLD.codes, {"noise": np.random.default_rng(5).standard_normal(600)})
        task = task_of(noisy)
        ladder = FourierLadder(n_features=(128, 256))
        free = _losses(fitted(ladder, task), task)
        monkeypatch.setattr("unbraid.probes.capacity.fourier.STRENGTHS", (1e-7,))
        assert (free < _losses(fitted(ladder, task), task) - 0.1).all()
        assert (free < 1.3).all()

    @pytest.mark.slow
    def test_reads_what_a_line_cannot(self):
        line, curve = (_losses(fitted(ladder), TASK)[0, -1] for ladder in (LinearLadder(), FourierLadder()))
        assert line > 0.5
        assert curve < 0.05


class TestEstimators:
    def test_estimators_are_fitted_as_they_would_be_alone(self):
        found = fitted(QUICK["estimators"])
        number = LinearRegression().fit(TASK.codes[TRAIN], NUMBER.numbers[TRAIN])
        category = LogisticRegression().fit(TASK.codes[TRAIN], CATEGORY.labels[TRAIN])
        np.testing.assert_allclose(found.test[0][0][:, 0], number.predict(TASK.codes[TEST]))
        np.testing.assert_allclose(found.test[1][0], category.predict_proba(TASK.codes[TEST]))

    def test_estimators_given_are_left_unfitted(self):
        fitted(QUICK["estimators"])
        assert not hasattr(QUICK["estimators"].levels[0].regressor, "coef_")

    def test_a_regressor_of_one_target_can_read_angles(self):
        ladder = EstimatorLadder(
            levels=(CapacityLevel(capacity=1, regressor=SVR(C=0.1)), CapacityLevel(capacity=2, regressor=SVR()))
        )
        task = CapacityTask(codes=TASK.codes, factors=(ANGLE,), split=TASK.split)
        assert fitted(ladder, task).test[0].shape == (2, len(TEST), 2)

    def test_a_classifier_without_probabilities_votes(self):
        ladder = EstimatorLadder(
            levels=(
                CapacityLevel(capacity=1, classifier=DummyClassifier()),
                CapacityLevel(capacity=2, classifier=LinearSVC()),
            )
        )
        task = CapacityTask(codes=TASK.codes, factors=(CATEGORY,), split=TASK.split)
        votes = fitted(ladder, task).test[0][1]
        assert set(np.unique(votes)) == {0.0, 1.0}
        assert (votes.argmax(axis=1) == CATEGORY.labels[TEST]).mean() > 0.6

    def test_seeds_reach_the_steps_of_a_pipeline(self):
        steps = make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), max_iter=3, early_stopping=True, n_iter_no_change=9)
        )
        ladder = EstimatorLadder(
            levels=(CapacityLevel(capacity=1, regressor=LinearRegression()), CapacityLevel(capacity=2, regressor=steps))
        )
        task = CapacityTask(codes=TASK.codes, factors=(NUMBER,), split=TASK.split)
        with pytest.warns(UserWarning, match="Maximum iterations"):
            first, again, other = (fitted(ladder, task, seed=seed).test[0] for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert (first[1] != other[1]).any()

    def test_a_missing_estimator_is_named(self):
        ladder = EstimatorLadder(levels=tuple(CapacityLevel(capacity=c, regressor=LinearRegression()) for c in (1, 2)))
        with pytest.raises(ValueError, match="level 1 has no classifier, which the categorical factor 'category'"):
            fitted(ladder)

    def test_the_earlier_name_of_levels_warns(self):
        levels = (CapacityLevel(capacity=1, regressor=Ridge()), CapacityLevel(capacity=2, regressor=Ridge()))
        with pytest.warns(DeprecationWarning, match="rungs of EstimatorLadder are now called levels"):
            assert EstimatorLadder(rungs=levels) == EstimatorLadder(levels=levels)

    @pytest.mark.parametrize(
        "levels", [[CapacityLevel(capacity=1)], (LinearRegression(), Ridge())], ids=["list", "bare"]
    )
    def test_levels_that_are_none(self, levels):
        with pytest.raises(TypeError, match="levels must be a tuple of CapacityLevel"):
            EstimatorLadder(levels=levels)


class TestSplit:
    def test_parts_have_their_shares_and_share_no_row(self):
        split = capacity_split(WORLD.factors, 600, rng=np.random.default_rng(0))
        assert [len(split.train), len(split.validation), len(split.test)] == [360, 90, 150]
        assert len(set(np.concatenate([split.train, split.validation, split.test]))) == 600

    def test_too_few_labelled_rows(self):
        numbers = np.full(600, np.nan)
        numbers[:15] = np.arange(15)
        with pytest.raises(
            ValueError, match="factor 'rare' has 15 labelled rows; a loss-capacity curve needs at least 20"
        ):
            capacity_split([make_factor(numbers, name="rare")], 600, rng=np.random.default_rng(0))

    def test_fewer_rows_than_values(self):
        names = np.full(100, None, dtype=object)
        names[:28] = np.repeat([f"v{i}" for i in range(14)], 2)
        factor = make_factor(names, name="f")
        with pytest.raises(ValueError, match=r"factor 'f' takes 14 values but only 1?[0-9] rows are left to fit on"):
            _split_often(factor, 100)

    def test_labelled_somewhere_but_not_in_every_part(self):
        factor = make_factor(_without(WORLD.codes[:, 0], np.arange(25, 600)), name="f")
        with pytest.raises(ValueError, match="in every part of the data"):
            _split_often(factor, 600)


def _split_often(factor, n_samples):
    """Split until chance leaves too little somewhere."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        capacity_split([factor], n_samples, rng=rng)


class TestAsLadder:
    @pytest.mark.parametrize("name", ["mlp", "forest", "fourier", "linear"])
    def test_names(self, name):
        assert as_ladder(name).name == name

    def test_a_ladder_is_itself(self):
        assert as_ladder(QUICK["forest"]) is QUICK["forest"]

    def test_unknown_name(self):
        with pytest.raises(ValueError, match=r"ladder must be one of mlp, .*, got 'forrest'; did you mean 'forest'"):
            as_ladder("forrest")

    def test_wrong_type(self):
        with pytest.raises(TypeError, match=r"ladder must be one of mlp, .* got LinearRegression"):
            as_ladder(LinearRegression())

    def test_a_class_is_no_ladder(self):
        with pytest.raises(TypeError, match="got the class ForestLadder"):
            as_ladder(ForestLadder)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForestLadder(depths=(1, 4, 4)), "depths must increase from level to level, got 4 after 4"),
        (
            lambda: ForestLadder(depths=(3,)),
            "depths must hold at least two capacities, got 1: one point makes no curve",
        ),
        (lambda: ForestLadder(depths=(0, 1)), "depths must be at least 1, got 0"),
        (lambda: ForestLadder(n_trees=0), "n_trees must be at least 1, got 0"),
        (lambda: ForestLadder(min_leaf=0), "min_leaf must be at least 1, got 0"),
        (lambda: ForestLadder(codes_tried="some"), "codes_tried must be one of all, scikit-learn, got 'some'"),
        (lambda: FourierLadder(n_features=(64, 16)), "n_features must increase from level to level, got 16 after 64"),
        (lambda: FourierLadder(width=0.0), "width must be at least 1e-06, got 0.0"),
        (lambda: LinearLadder(n_directions=(2,)), "n_directions must hold at least two capacities, got 1"),
        (lambda: MLPLadder(widths=()), "widths must hold at least two capacities, got 1"),
        (lambda: MLPLadder(widths=(4, 2)), "widths must increase from level to level, got 2 after 4"),
        (lambda: MLPLadder(networks="both"), "networks must be one of shared, separate, got 'both'"),
        (lambda: MLPLadder(capacity="all"), "capacity must be one of excess, parameters, got 'all'"),
        (lambda: MLPLadder(learning_rate=0.0), r"learning_rate must be in \(0, 1\), got 0.0"),
        (lambda: MLPLadder(patience=0), "patience must be at least 1, got 0"),
        (
            lambda: EstimatorLadder(levels=(CapacityLevel(capacity=2), CapacityLevel(capacity=1))),
            "capacities of levels must increase from level to level, got 1 after 2",
        ),
        (lambda: EstimatorLadder(levels=(CapacityLevel(capacity=1),)), "capacities of levels must hold at least two"),
    ],
)
def test_settings_that_make_no_ladder(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: ForestLadder(depths=[1, 2]), lambda: MLPLadder(widths=4)])
def test_levels_that_are_no_tuple(make):
    with pytest.raises(TypeError, match=r"must be a tuple such as \(2, 4, 8\), got"):
        make()


def test_split_is_what_a_task_reads():
    split = Split(train=np.array([0, 1]), validation=np.array([2]), test=np.array([3]))
    factor = make_factor(np.array([1.0, np.nan, 2.0, 3.0]), name="f", kind="continuous")
    task = CapacityTask(codes=np.zeros((4, 2)), factors=(factor,), split=split)
    np.testing.assert_array_equal(task.labelled(factor, split.train), [0])
