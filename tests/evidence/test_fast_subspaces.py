import numpy as np
import pytest

from helpers.worlds import random_rotation
from unbraid import Representation
from unbraid._base.workers import Workers
from unbraid.evidence.subspaces import axes as of_axes
from unbraid.evidence.subspaces import fast as fast_subspaces
from unbraid.evidence.subspaces.axes import additive_turn, cross_fitted, make_basis, order_axes, ridge_fit
from unbraid.evidence.subspaces.fast import directional_regression, find_subspace, refine, tilt, whiten
from unbraid.evidence.subspaces.losses import rounding_floor
from unbraid.evidence.subspaces.options import SubspaceOptions, importance_weights
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.metrics.geometry.orthogonality import iwo, iwo_score, iwr_score
from unbraid.representation.factor import Factor, make_factor
from unbraid.results.note import NoteKind

N = 3000
OPTIONS = SubspaceOptions()


def normal(n_codes: int, seed: int = 0, n_samples: int = N) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_samples, n_codes))


def solve(codes: np.ndarray, values: np.ndarray, kind: str | None = None):
    factor = values if isinstance(values, Factor) else make_factor(values, name="v", kind=kind)
    return find_subspace(codes, factor, OPTIONS, np.random.default_rng(0))


def smallest_cosine(basis: np.ndarray, truth: np.ndarray) -> float:
    return float(np.linalg.svd(np.linalg.qr(truth)[0].T @ basis)[1].min())


class TestPolynomials:
    def test_slopes_are_the_derivatives_of_values(self):
        w = normal(3, n_samples=20)
        basis = make_basis(3, 60)
        coefficients = normal(2, seed=1, n_samples=len(basis.powers))
        slopes = basis.slopes(w, coefficients)
        for m in range(3):
            step = np.zeros(3)
            step[m] = 1e-5
            numeric = (basis.values(w + step) - basis.values(w - step)) @ coefficients / 2e-5
            np.testing.assert_allclose(slopes[:, m], numeric, rtol=1e-4, atol=1e-4)

    def test_terms_are_orthonormal_under_a_normal(self):
        terms = make_basis(2, 20).values(normal(2, n_samples=200_000))
        low = terms[:, :6]
        np.testing.assert_allclose(low.T @ low / len(low), np.eye(6), atol=0.03)

    def test_a_polynomial_is_fitted_exactly(self):
        w = normal(2)
        target = (w[:, 0] ** 2 * w[:, 1] - w[:, 1])[:, None]
        terms = make_basis(2, 100).values(w)
        np.testing.assert_allclose(terms @ ridge_fit(terms, 1e-12)(target), target, atol=1e-6)

    def test_cross_fitting_does_not_flatter_noise(self):
        terms = make_basis(3, 100).values(normal(3, n_samples=400))
        noise = normal(1, seed=1, n_samples=400)
        left = noise - cross_fitted(terms, noise, n_folds=5, held_to_range=False)
        assert left.var() > 0.97 * noise.var()

    def test_clipped_targets_are_fitted_better_when_the_range_is_known(self):
        w = normal(1)
        clipped = np.clip(w, -0.8, 0.8)
        terms = make_basis(1, 5).values(w)
        plain, held = (
            ((clipped - cross_fitted(terms, clipped, n_folds=5, held_to_range=held)) ** 2).mean()
            for held in (False, True)
        )
        assert held < 0.9 * plain


class TestAxes:
    @pytest.mark.slow
    @pytest.mark.parametrize("function", [lambda s: np.sqrt((s**2).mean(axis=1)), lambda s: np.cos(s).mean(axis=1)])
    def test_turned_axes_are_found_almost_exactly(self, function):
        codes, turn = normal(8), random_rotation(8, np.random.default_rng(1))
        found = solve(codes @ turn, function(codes[:, :3]))
        assert found.basis.shape == (8, 3)
        assert smallest_cosine(found.basis, turn[:3].T) > 0.999

    def test_a_line_needs_one_axis(self):
        codes = normal(6)
        direction = np.array([3.0, 4, 0, 0, 0, 0]) / 5
        found = solve(codes, codes @ direction)
        assert found.basis.shape == (6, 1)
        assert abs(found.basis[:, 0] @ direction) > 0.9999

    def test_correlated_codes_give_the_direction_of_change_not_of_correlation(self):
        mix = np.array([[1.0, 0.9, 0], [0, 0.5, 0], [0, 0, 1]])
        codes = normal(3) @ mix
        found = solve(codes, codes[:, 0])
        assert abs(found.basis[0, 0]) > 0.9999

    def test_heavy_tails_do_not_hide_the_axis(self):
        codes = np.random.default_rng(0).standard_t(3, size=(N, 5))
        found = solve(codes, np.tanh(codes[:, 2]))
        assert abs(found.basis[2, 0]) > 0.99

    def test_copied_and_dead_codes_leave_an_orthonormal_basis(self):
        codes = normal(3)
        found = solve(np.column_stack([codes, codes[:, 0], np.ones(N)]), codes[:, 0])
        np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(found.basis.shape[1]), atol=1e-9)
        np.testing.assert_allclose(np.abs(found.basis[[0, 3], 0]), np.sqrt(0.5), atol=1e-3)

    def test_nearly_copied_codes_are_told_apart_where_the_factor_is(self):
        codes = normal(3)
        codes[:, 1] = codes[:, 0] + 0.05 * codes[:, 1]
        found = solve(codes, codes[:, 0] + codes[:, 2])
        assert smallest_cosine(found.basis[:, :1], np.array([[1.0], [0.0], [1.0]])) > 0.98

    def test_a_category_is_found_by_where_its_classes_lie(self):
        codes = normal(5)
        found = solve(codes, np.digitize(codes[:, 1], [-0.5, 0.5]).astype(str))
        assert abs(found.basis[1, 0]) > 0.99

    def test_an_angle_needs_the_plane_it_turns_in(self):
        codes = normal(5)
        found = solve(codes, np.arctan2(codes[:, 0], codes[:, 1]), kind="circular")
        assert smallest_cosine(found.basis[:, :2], np.eye(5)[:, :2]) > 0.99

    def test_unlabelled_rows_are_not_seen(self):
        codes = normal(4)
        values = codes[:, 0].copy()
        codes[:500], values[:500] = codes[:500, ::-1].copy(), np.nan
        assert abs(solve(codes, values).basis[0, 0]) > 0.9999

    def test_additive_functions_are_ordered_along_their_own_axes(self):
        codes = normal(3, n_samples=8000)
        target = (np.cos(codes[:, 0]) + 0.6 * np.cos(codes[:, 1]))[:, None]
        axes = order_axes(codes, target - target.mean(), random_rotation(3, np.random.default_rng(0))[:, :3])
        assert abs(axes[0, 0]) > 0.97
        assert abs(axes[1, 1]) > 0.97

    def test_a_sum_of_curves_is_turned_back_onto_its_own_axes(self):
        """Cosines have no part of degree 3; degree 2 of equal ones is the same in all directions."""
        w = normal(5, n_samples=4000)
        turn = random_rotation(5, np.random.default_rng(1))
        found = additive_turn(w @ turn, np.cos(w).sum(axis=1, keepdims=True), make_basis(5, 260))
        np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-12)
        assert np.abs(turn @ found).max(axis=1).min() > 0.99

    def test_gauss_newton_improves_a_poor_start(self):
        codes = normal(6)
        target = np.tanh(codes[:, :1])
        start = np.linalg.qr(np.array([[1.0, 0.6, 0.5, 0, 0, 0]]).T)[0]
        axes, _ = refine(codes, target - target.mean(), start)
        assert abs(axes[0, 0]) > 0.9999 > abs(start[0, 0])

    def test_directional_regression_sees_both_mean_and_spread(self):
        codes, _ = whiten(normal(4))
        slices = np.digitize(codes[:, 0], [0]) * 2 + (np.abs(codes[:, 2]) > 1)
        leading = np.linalg.eigh(directional_regression(codes, slices))[1][:, -2:]
        assert smallest_cosine(leading, np.eye(4)[:, [0, 2]]) > 0.98


class TestWeights:
    def test_noise_has_even_weights_rank_zero_and_a_note(self):
        rng = np.random.default_rng(0)
        codes = normal(4)
        rep = Representation(codes, {"coin": rng.standard_normal(N), "real": codes[:, 0]})
        found = factor_subspaces(rep, OPTIONS, rng)
        np.testing.assert_allclose(found.weights[0], 0.25)
        score = iwr_score(found)
        assert score.per_factor[0] == pytest.approx(0.0, abs=1e-9)
        assert "predicts nothing of “coin”, though other probes may: its weight" in score.notes[0]

    def test_one_code_that_is_the_factor_scores_one(self):
        codes = normal(4)
        found = factor_subspaces(Representation(codes, codes[:, :2]), OPTIONS, np.random.default_rng(0))
        assert iwr_score(found).value == pytest.approx(1.0, abs=1e-3)
        assert iwo_score(found).value == pytest.approx(1.0, abs=1e-3)

    def test_uneven_shares_of_variance_become_uneven_weights(self):
        codes = normal(5, n_samples=10_000)
        found = solve(codes, np.cos(2 * codes[:, 0]) + 0.5 * np.cos(2 * codes[:, 1]))
        np.testing.assert_allclose(importance_weights(found.losses, 5), [0.8, 0.2], atol=0.02)

    @pytest.mark.parametrize("degrees", [30, 60])
    def test_lines_at_an_angle_score_its_squared_sine(self, degrees):
        codes = normal(4)
        turn = np.deg2rad(degrees)
        factors = np.column_stack([codes[:, 0], np.cos(turn) * codes[:, 0] + np.sin(turn) * codes[:, 1]])
        found = factor_subspaces(Representation(codes, factors), OPTIONS, np.random.default_rng(0))
        assert iwo_score(found).value == pytest.approx(np.sin(turn) ** 2, abs=1e-3)

    def test_spread_weights_tend_to_explained_ones_as_the_residual_goes(self):
        codes = normal(4, n_samples=5000)
        gaps = []
        for noise in (0.3, 0.03, 0.003):
            factors = codes[:, :2] + noise * normal(2, seed=9, n_samples=5000)
            rep = Representation(codes, factors)
            scores = [
                iwo_score(factor_subspaces(rep, SubspaceOptions(weights=w), np.random.default_rng(0))).value
                for w in ("explained", "spread")
            ]
            gaps.append(abs(scores[0] - scores[1]))
        assert gaps[0] > gaps[1] > gaps[2]
        assert gaps[2] < 0.01

    def test_zero_one_loss_is_offered_for_categories(self):
        codes = normal(3)
        rep = Representation(codes, {"side": np.where(codes[:, 0] > 0, "left", "right"), "n": codes[:, 1]})
        found = factor_subspaces(rep, SubspaceOptions(loss="zero_one"), np.random.default_rng(0))
        assert found.subspaces[0].losses[0] == pytest.approx(0.5, abs=0.03)
        assert found.subspaces[0].losses[-1] < 0.05

    def test_rounding_sets_the_floor(self):
        values = np.round(np.random.default_rng(0).uniform(size=N) * 20) / 20
        factor = make_factor(values, name="v")
        assert rounding_floor(factor, np.arange(N)) == pytest.approx(0.05**2 / 12, rel=1e-6)

    @pytest.mark.slow
    def test_same_seed_same_subspace(self):
        codes = normal(5)
        values = np.cos(codes[:, 0]) + codes[:, 1] ** 2
        np.testing.assert_array_equal(solve(codes, values).basis, solve(codes, values).basis)

    def test_too_few_rows_are_refused(self):
        with pytest.raises(
            ValueError, match=r"more than twice as many labelled rows as columns .* 'v', got 12 rows and 8"
        ):
            solve(normal(8, n_samples=12), normal(1, n_samples=12)[:, 0])


def rotated_functions(n_rows: int, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """Three factors of one, two and two directions of turned codes, of which the first and the last share one."""
    rng = np.random.default_rng(0)
    z, noise = rng.standard_normal((n_rows, n_codes)), rng.standard_normal((n_rows, 3))
    factors = [np.tanh(z[:, 0]), z[:, 1] ** 2 + z[:, 2], z[:, 3] + z[:, 0]] + np.array([[0.1], [0.3], [0.5]]) * noise.T
    return z @ random_rotation(n_codes, rng), factors.T


def codes_of_their_own(n_rows: int, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """A code of its own for each of two factors of two values, among codes of noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2, (n_rows, 2))
    codes = rng.standard_normal((n_rows, n_codes))
    codes[:, :2] += 2 * factors
    return codes, factors


@pytest.mark.slow
class TestWideCodes:
    @pytest.mark.parametrize("world", [rotated_functions, codes_of_their_own])
    def test_scores_of_128_codes_are_those_of_all_directions(self, monkeypatch, world):
        rep = Representation(*world(5000, 128))
        found = factor_subspaces(rep, OPTIONS, np.random.default_rng(0))
        monkeypatch.setattr(fast_subspaces, "ENOUGH_ROWS", 10_000)
        exact = factor_subspaces(rep, OPTIONS, np.random.default_rng(0))
        assert found.subspaces[0].losses[0] != exact.subspaces[0].losses[0]  # other rows
        assert iwo_score(found).value == pytest.approx(iwo_score(exact).value, abs=0.02)
        assert iwr_score(found).value == pytest.approx(iwr_score(exact).value, abs=0.02)

    def test_curved_axes_among_250_codes_are_found_in_their_place(self):
        """Factors that depend on three directions each by their squares alone, which lines do not show."""
        rng = np.random.default_rng(0)
        z, turn = rng.standard_normal((8000, 250)), random_rotation(250, rng)
        factors = [np.sqrt((z[:, i : i + 3] ** 2).mean(axis=1)) for i in (0, 3)] + 0.1 * rng.standard_normal((2, 8000))
        rep = Representation(z @ turn, factors.T)
        found = factor_subspaces(rep, OPTIONS, np.random.default_rng(0))
        assert iwr_score(found).value == pytest.approx(1 - np.log(3) / np.log(250), abs=0.01)
        for i, one in zip((0, 3), found.subspaces, strict=True):
            assert smallest_cosine(one.basis, turn[i : i + 3].T) > 0.9

    @pytest.mark.slow
    def test_known_codes_are_found_among_4096(self):
        rep = Representation(*codes_of_their_own(3000, 4096))
        found = factor_subspaces(rep, OPTIONS, np.random.default_rng(0))
        assert iwo_score(found).value > 0.97
        assert [float(np.linalg.norm(one.basis[k])) > 0.9 for k, one in enumerate(found.subspaces)] == [True, True]

    @pytest.mark.slow
    def test_the_best_of_4096_directions_of_noise_is_none(self):
        codes, factors = codes_of_their_own(1200, 4096)
        rep = Representation(codes, np.random.default_rng(1).permutation(factors))
        found = factor_subspaces(rep, OPTIONS, np.random.default_rng(0)).subspaces
        assert [one.basis.shape[1] for one in found] == [0, 0]

    def test_codes_of_any_scale_have_the_same_subspaces(self):
        codes, factors = codes_of_their_own(2000, 300)
        scale = np.geomspace(1e-3, 1e3, 300)
        once, again = (
            factor_subspaces(Representation(c, factors), OPTIONS, np.random.default_rng(0)).subspaces
            for c in (codes, codes * scale + 5 * scale)
        )
        for a, b in zip(once, again, strict=True):
            turned = a.basis / scale[:, None]
            assert smallest_cosine(b.basis, turned) == pytest.approx(1.0, abs=1e-3)

    def test_a_factor_that_few_rows_have_is_refused(self):
        codes, factors = codes_of_their_own(600, 300)
        labels = np.where(np.arange(600) < 500, factors[:, 0], np.nan)
        with pytest.raises(ValueError, match=r"more than 500 labelled rows .* 'v' among 300 columns, got 500 rows"):
            factor_subspaces(Representation(codes, {"v": labels}), OPTIONS, np.random.default_rng(0))


@pytest.mark.parametrize("seed", [0, 3])
def test_an_axis_that_only_makes_up_for_a_tilt_is_no_axis(seed):
    """Noisy copies of three whole numbers: directional regression offers a second axis for some, which is none."""
    factors = np.random.default_rng(seed).integers(0, 6, (2000, 3))
    codes = factors + 0.1 * np.random.default_rng(seed + 100).normal(size=factors.shape)
    found = fast_subspaces.fast_subspaces(Representation(codes, factors), OPTIONS, np.random.default_rng(0), Workers(2))
    assert [one.basis.shape[1] for one in found] == [1, 1, 1]
    assert np.abs([one.basis[k, 0] for k, one in enumerate(found)]) == pytest.approx(np.ones(3), abs=1e-4)


def test_a_second_axis_of_little_weight_is_kept_if_it_is_there():
    z = normal(3, n_samples=5000)
    found = solve(z, z[:, 0] + 0.09 * z[:, 1] ** 2)
    assert found.basis.shape[1] == 2
    assert found.losses[1] / found.losses[0] == pytest.approx(0.016, abs=2e-3)


@pytest.mark.parametrize(("n_codes", "n_samples"), [(20, 1000), (50, 1000), (50, 3000), (100, 600)])
def test_among_many_codes_of_noise_no_axis_is_found(n_codes, n_samples):
    for seed in (1, 2):
        codes = normal(n_codes, seed, n_samples)
        found = solve(codes, np.random.default_rng(seed + 10).integers(0, 6, n_samples))
        assert found.basis.shape == (n_codes, 0)
        assert len(found.losses) == 1


def test_a_weak_factor_among_many_codes_is_found():
    codes = normal(50, n_samples=3000)
    found = solve(codes, codes[:, 0] + 2 * normal(1, 5, 3000)[:, 0])  # a fifth of it can be known
    assert smallest_cosine(found.basis, np.eye(50)[:, :1]) > 0.95
    assert found.is_line
    assert found.losses[-1] / found.losses[0] == pytest.approx(0.8, abs=0.07)  # fifty codes fit some rows by luck


class TestManyAxes:
    CODES = normal(13, n_samples=2500)
    LENGTH = np.sqrt((CODES[:, :12] ** 2).mean(axis=1))

    @pytest.mark.slow
    def test_more_than_ten_axes_are_found_where_they_are(self):
        found = solve(self.CODES, self.LENGTH)
        assert found.basis.shape == (13, 12)
        assert not found.stopped
        assert np.abs(found.basis[12]).max() < 0.2

    def test_a_limit_is_kept_and_said(self):
        rep = Representation(self.CODES, np.column_stack([self.LENGTH, self.CODES[:, 12]]), names=["length", "last"])
        subspaces = factor_subspaces(rep, SubspaceOptions(max_rank=4), np.random.default_rng(0))
        assert [found.stopped for found in subspaces.subspaces] == [True, False]
        (note,) = iwo_score(subspaces).notes
        assert "“length” still falls with the last of 4 axes" in note


@pytest.mark.parametrize("seed", [8, 16])
def test_a_tilted_first_axis_is_set_straight_before_a_second_one_counts(seed):
    """The factor is read along one direction; a square of another factor had tilted it, and a second axis made up."""
    rng = np.random.default_rng(1000 + seed)
    g, noise = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3))
    square = 0.3 * g[:, 2] ** 2 + 0.2 * noise[:, 1]
    codes = np.column_stack([g[:, 0] + 0.3 * noise[:, 0], np.tanh(g[:, 1]) + 0.3 * g[:, 0], square, noise[:, 2]])
    found = find_subspace(codes, make_factor(g[:, 1], name="v"), OPTIONS, np.random.default_rng(seed).spawn(3)[1])
    assert found.basis.shape[1] == 1
    assert np.abs(found.basis[2, 0]) < 0.1


def test_axes_of_a_score_are_the_directions_of_the_factors():
    codes = np.random.default_rng(0).normal(size=(1500, 4))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    factors = np.stack([codes[:, 0], codes[:, 1] ** 2 + codes[:, 2] ** 2], axis=1)
    for weights in ("explained", "spread"):
        axes = iwo(codes @ turn, factors, weights=weights).evidence["axes"]
        assert axes.shape == (2, 4, 2)
        assert abs(axes[0, :, 0] @ turn[0]) > 0.999
        assert np.isnan(axes[0, :, 1]).all()
        plane = axes[1]
        np.testing.assert_allclose(plane.T @ plane, np.eye(2), atol=1e-9)
        assert np.linalg.norm(turn[[1, 2]] @ plane) ** 2 > 1.99


@pytest.mark.slow
class TestUncertainAxes:
    def test_a_weak_line_is_found_that_slices_and_curves_do_not_show(self):
        """Factors of ten values, rotated, under three times as much noise: R² is 0.08."""
        rng = np.random.default_rng(1)
        factors = rng.integers(0, 10, (2000, 5))
        turn = np.linalg.qr(np.random.default_rng(7).normal(size=(5, 5)))[0]
        codes = 0.3 * (factors - 4.5) / 2.87 @ turn + rng.normal(size=(2000, 5))
        for k, values in enumerate(factors.T):
            found = solve(codes, values)
            assert found.basis.shape[1] == 1
            assert abs(float(turn[k] @ found.basis[:, 0])) > 0.9

    @pytest.mark.parametrize("scale", [1.0, 20.0])
    def test_tilt_is_the_mean_squared_sine_of_the_error_of_least_squares(self, scale):
        rng, truth = np.random.default_rng(0), np.array([0.0, 0.0, 1.0])
        scales, n_rows = np.array([1.0, 1.0, scale]), 1000
        sines, tilts = [], []
        for _ in range(200):
            codes = rng.normal(size=(n_rows, 3)) * scales
            values = codes @ truth / scale + 0.5 * rng.normal(size=n_rows)
            x, unwhiten = whiten(codes)
            axis = np.linalg.qr(x.T @ values[:, None])[0]
            left = values - values.mean() - x @ axis @ (x @ axis).T @ values / n_rows
            losses = np.array([values.var(), left.var()])
            direction = np.linalg.qr(unwhiten @ axis)[0][:, 0]
            sines.append(1 - float(direction @ truth) ** 2)
            tilts.append(tilt(unwhiten, axis, losses, n_rows))
        assert np.mean(tilts) == pytest.approx(np.mean(sines), rel=0.15)

    def test_no_axis_has_no_tilt(self):
        assert tilt(np.eye(3), np.zeros((3, 0)), np.array([1.0]), 100) == 0.0

    def test_codes_of_very_different_scale_are_to_be_standardised(self):
        codes, mix = normal(4), np.array([[1, 1], [1, -1]]) / np.sqrt(2)
        turned = np.hstack([codes[:, :2] @ mix, codes[:, 2:] @ mix]) + 0.05 * normal(4, seed=1)
        raw = iwo(turned * [1, 1, 1e4, 1e4], codes)
        assert raw.value < 0.8
        (note,) = raw.notes
        assert note.kind is NoteKind.UNCERTAIN_AXES
        assert note.values[0] == "“factor_2” and “factor_3”"
        assert "standardise the codes" in note
        for even in (turned, turned * [1, 1, 10, 10]):
            found = iwo(even, codes)
            assert found.value > 0.99
            assert not found.notes


@pytest.mark.slow
def test_axes_that_hardly_matter_do_not_come_with_more_rows():
    """The mean of a factor of four values bends a little between codes that other factors share: 0.2 % of it."""
    sizes = np.array([4, 7, 16])
    mix = np.array([[1, 0.3, 0], [0, 1, 0.2], [0.1, 0, 1.0], [0.5, 0.5, 0]])
    rng = np.random.default_rng(1005)
    factors = np.stack([rng.integers(0, size, 20_000) for size in sizes], axis=1)
    codes = (factors - sizes / 2) / sizes @ mix.T + 0.1 * rng.normal(size=(20_000, 4))
    rep = Representation(np.column_stack([codes, rng.normal(size=20_000)]), factors)
    found = factor_subspaces(rep, SubspaceOptions(), np.random.default_rng(1))
    assert [one.basis.shape[1] for one in found.subspaces] == [1, 1, 1]


@pytest.mark.parametrize("plane", [(0, 1), (1, 3), (0, 3)])
def test_the_best_angle_of_a_plane_is_that_of_turned_tensors(plane):
    basis = make_basis(4, 100)
    tensors = of_axes._tensors(basis, np.random.default_rng(sum(plane)).normal(size=(len(basis.powers), 2)))
    angles = np.linspace(-np.pi / 2, np.pi / 2, 12, endpoint=False)

    def turned(angle):
        return [of_axes._rotate(tensor, of_axes._plane(4, *plane, angle)) for tensor in tensors]

    def by_first(found):
        corners = (found[d][(slice(n),) * (d + 1)] ** 2 for n in range(1, 4) for d in range(len(found)))
        shares = (1 / np.prod(np.arange(1, d + 2)) for _ in range(1, 4) for d in range(len(found)))
        return sum(corner.sum() * share for corner, share in zip(corners, shares, strict=True))

    assert of_axes._explained_by_first(tensors) == pytest.approx(by_first(tensors))
    _, angle = of_axes._best_angle(tensors, *plane, angles)
    values = [by_first(turned(own)) for own in angles]
    assert max(values) > 1.001 * by_first(tensors)
    assert angle == angles[int(np.argmax(values))]


@pytest.mark.parametrize(("n_codes", "n_axes", "n_targets"), [(5, 1, 1), (5, 3, 1), (5, 2, 4), (40, 5, 3)])
def test_a_turn_is_the_least_squares_step_of_all_targets(n_codes, n_axes, n_targets):
    rng = np.random.default_rng(0)
    x, slopes = rng.normal(size=(400, n_codes)), rng.normal(size=(400, n_axes, n_targets))
    residual = rng.normal(size=(400, n_targets))
    design = np.einsum("nat,ni->ntai", slopes, x).reshape(400 * n_targets, -1)
    gram = design.T @ design
    gram += 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    wanted = np.linalg.solve(gram, design.T @ residual.ravel()).reshape(n_axes, n_codes).T
    np.testing.assert_allclose(fast_subspaces._turn(x, slopes, residual), wanted, atol=1e-6)
