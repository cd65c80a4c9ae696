"""SAGE against closed forms, and against the library of the paper that defined it."""

from itertools import permutations

import numpy as np
import pytest
import sage

from unbraid.probes.sage import SageOptions, WeightedSums, sage_values

WEIGHTS = np.array([2.0, -1.0, 0.0])


def squared_losses(targets):
    """Losses of one task for ``sage_values``."""
    return lambda said, rows: ((said[0] - targets[rows, None]) ** 2).sum(axis=1)[None]


def linear(weights):
    return lambda x: [(x @ weights)[:, None]]


def bent(x):
    """A model with interactions, so that the order of the codes matters."""
    return [(x[:, 0] * x[:, 1] + np.maximum(x[:, 2], 0) + 0.3 * x[:, 3])[:, None]]


def normal(n_rows, n_codes, seed=0):
    return np.random.default_rng(seed).standard_normal((n_rows, n_codes))


def explain(predict, targets, codes, *, background, seed=0, **options):
    return sage_values(
        predict,
        squared_losses(targets),
        codes,
        background=background,
        options=SageOptions(n_background=len(background), **options),
        rng=np.random.default_rng(seed),
    )


def exact_values(predict, targets, codes, background):
    """The definition, over every row and every order of the codes."""
    n_codes = codes.shape[1]

    def loss(shown):
        mixed = np.repeat(background[None], len(codes), axis=0)
        mixed[:, :, shown] = codes[:, None, shown]
        said = predict(mixed.reshape(-1, n_codes))[0].reshape(len(codes), len(background), -1).mean(axis=1)
        return ((said - targets[:, None]) ** 2).sum(axis=1).mean()

    values, orders = np.zeros(n_codes), list(permutations(range(n_codes)))
    for order in orders:
        for place, code in enumerate(order):
            values[code] += loss(list(order[:place])) - loss(list(order[: place + 1]))
    return values / len(orders)


def test_independent_gaussian_codes_of_a_linear_model_get_their_squared_weights():
    codes, background = normal(4000, 3), normal(400, 3, seed=1)
    background = (background - background.mean(axis=0)) / background.std(axis=0)
    found = explain(linear(WEIGHTS), codes @ WEIGHTS, codes, background=background, max_rows=4000, tolerance=0.01)
    np.testing.assert_allclose(found.values[:, 0], WEIGHTS**2, atol=4 * found.errors.max() + 0.02)
    assert found.values[2, 0] == 0.0


def test_values_add_up_to_what_all_codes_together_bring():
    codes, background = normal(64, 4), normal(16, 4, seed=1)
    targets = bent(codes)[0][:, 0] + 0.5 * normal(64, 1, seed=2)[:, 0]
    found = explain(bent, targets, codes, background=background, max_rows=64, tolerance=1e-6)
    without = ((bent(background)[0].mean() - targets) ** 2).mean()
    everything = ((bent(codes)[0][:, 0] - targets) ** 2).mean()
    assert found.n_rows == 64
    assert found.values.sum() == pytest.approx(without - everything, abs=1e-12)


def test_agrees_with_the_definition_over_all_orders():
    codes, background = normal(40, 4), normal(8, 4, seed=1)
    targets = bent(codes)[0][:, 0]
    exact = exact_values(bent, targets, codes, background)
    found = explain(bent, targets, codes, background=background, max_rows=4000, tolerance=1e-6)
    np.testing.assert_array_less(np.abs(found.values[:, 0] - exact), 4 * found.errors[:, 0] + 1e-12)
    assert found.errors.max() < 0.05 * exact.max()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_agrees_with_the_library():
    codes, background = normal(300, 4), normal(16, 4, seed=1)
    targets = bent(codes)[0][:, 0] + 0.3 * normal(300, 1, seed=2)[:, 0]
    found = explain(bent, targets, codes, background=background, max_rows=3000, tolerance=1e-6)
    imputer = sage.MarginalImputer(lambda x: bent(x)[0], background)
    library = sage.PermutationEstimator(imputer, "mse", random_state=0)(
        codes, targets[:, None], batch_size=128, n_permutations=3000, detect_convergence=False, bar=False
    )
    spread = np.hypot(found.errors[:, 0], library.std)
    np.testing.assert_array_less(np.abs(found.values[:, 0] - library.values), 4 * spread)
    assert spread.max() < 0.1 * library.values.max()


def test_several_tasks_share_one_walk_through_the_codes():
    codes, background = normal(200, 3), normal(16, 3, seed=1)
    both = np.stack([WEIGHTS, WEIGHTS[::-1]])

    def losses(said, rows):
        return np.stack([(part[:, 0] - codes[rows] @ w) ** 2 for part, w in zip(said, both, strict=True)])

    found = sage_values(
        lambda x: [(x @ w)[:, None] for w in both],
        losses,
        codes,
        background=background,
        options=SageOptions(n_background=16, max_rows=200, tolerance=1e-6),
        rng=np.random.default_rng(0),
    )
    alone = explain(linear(WEIGHTS), codes @ WEIGHTS, codes, background=background, max_rows=200, tolerance=1e-6)
    assert found.values.shape == (3, 2)
    np.testing.assert_allclose(found.values[:, 0], alone.values[:, 0])
    assert found.values[0, 1] == 0.0


@pytest.mark.parametrize("groups", [None, [[0, 2], [1], [3, 4, 5]]])
def test_sums_to_which_revealed_codes_are_added_give_the_values_of_whole_rows(groups):
    codes, background, weights = normal(200, 6), normal(16, 6, seed=1), normal(6, 3, seed=2)
    targets = bent(codes)[0][:, 0]

    def of_sums(sums):
        return [(np.tanh(sums[:, 0]) * sums[:, 1] + sums[:, 2])[:, None]]

    def explained(box):
        return sage_values(
            box,
            squared_losses(targets),
            codes,
            background=background,
            options=SageOptions(n_background=16, max_rows=200),
            groups=groups,
            rng=np.random.default_rng(0),
        )

    whole = explained(lambda x: of_sums(x @ weights))
    added = explained(WeightedSums(weights=weights, predict=of_sums))
    np.testing.assert_allclose(added.values, whole.values, atol=1e-12)
    np.testing.assert_allclose(added.errors, whole.errors, atol=1e-12)
    assert np.abs(whole.values).min() > 0.01


def test_stops_when_the_largest_error_is_a_small_share_of_the_range():
    codes, background = normal(2000, 3), normal(32, 3, seed=1)
    targets = codes @ WEIGHTS
    soon = explain(linear(WEIGHTS), targets, codes, background=background, tolerance=0.1)
    late = explain(linear(WEIGHTS), targets, codes, background=background, tolerance=0.03)
    assert 128 <= soon.n_rows < late.n_rows < 4096
    assert soon.converged.all()
    assert late.converged.all()
    assert late.errors.max() <= 0.03 * np.ptp(late.values)


def test_says_when_it_did_not_converge():
    codes = normal(500, 3)
    noise = normal(500, 1, seed=2)[:, 0]
    found = explain(linear(WEIGHTS), noise, codes, background=normal(8, 3, seed=1), max_rows=150, tolerance=0.001)
    assert found.n_rows == 150
    assert not found.converged.any()


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    background = normal(8, 2, seed=1)
    population = normal(20_000, 2, seed=7)
    weights = np.array([1.0, 0.5])
    # For two codes both orders are taken of every row, so that the definition needs no chance but that of rows.
    truth = exact_values(linear(weights), population @ weights, population, background)
    covered = []
    for seed in range(60):
        codes = normal(100, 2, seed=100 + seed)
        found = explain(linear(weights), codes @ weights, codes, background=background, max_rows=100, tolerance=1e-6)
        covered.append((found.low[:, 0] <= truth) & (truth <= found.high[:, 0]))
    assert 0.85 <= np.mean(covered) <= 1.0


def test_same_seed_same_values():
    codes, background = normal(200, 4), normal(20, 4, seed=1)
    options = {"background": background, "max_rows": 128}
    first, again, other = (explain(bent, codes[:, 0], codes, seed=seed, **options).values for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_background": 0}, "n_background must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"max_rows": 1}, "max_rows must be at least 2, got 1"),
        ({"tolerance": 0.0}, r"tolerance must be in \(0, 1\), got 0.0"),
    ],
)
def test_settings_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        SageOptions(**options)
