"""IWO, IWR and plain orthogonality of bases and weights made by hand: no solver, no training."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from helpers.worlds import random_rotation
from unbraid.evidence.subspaces.options import (
    Subspace,
    SubspaceOptions,
    Subspaces,
    complete_basis,
    importance_weights,
    weigh,
)
from unbraid.metrics.geometry.orthogonality import (
    iwo_score,
    iwr_score,
    loss_shares,
    orthogonality_score,
    overlap,
    padded_columns,
    weighted_orthogonality,
    weighted_rank,
)
from unbraid.results.note import NoteKind

N_CODES = 6
ROTATIONS = [random_rotation(N_CODES, rng) for rng in np.random.default_rng(0).spawn(20)]
EXPLAINED, SPREAD = SubspaceOptions(weights="explained"), SubspaceOptions(weights="spread")
every_rotation = pytest.mark.parametrize("turn", ROTATIONS, ids=range(len(ROTATIONS)))


def axes(*picked: int, n_codes: int = N_CODES) -> np.ndarray:
    """Columns of the identity."""
    return np.eye(n_codes)[:, list(picked)]


def even(rank: int) -> np.ndarray:
    return np.full(rank, 1 / rank)


def subspaces(*found: tuple[np.ndarray, list[float]]) -> Subspaces:
    """Subspaces with these bases and weights, and losses that would give those weights."""
    bases, weights = [basis for basis, _ in found], [np.array(alpha, dtype=float) for _, alpha in found]
    losses = [np.concatenate([[1.0], 1 - np.cumsum(alpha)]) for alpha in weights]
    return Subspaces(
        subspaces=tuple(Subspace(basis=b, losses=curve) for b, curve in zip(bases, losses, strict=True)),
        bases=tuple(bases),
        weights=tuple(weights),
        n_codes=len(bases[0]),
    )


def random_basis(rank: int, rng: np.random.Generator) -> np.ndarray:
    return random_rotation(N_CODES, rng)[:, :rank]


def random_weights(rank: int, rng: np.random.Generator) -> np.ndarray:
    return np.sort(rng.dirichlet(np.ones(rank)))[::-1]


class TestTheorems:
    """The four theorems of the paper's Appendix B, both ways."""

    @every_rotation
    def test_iwo_is_one_for_orthogonal_subspaces(self, turn):
        found = subspaces(
            (turn @ axes(0, 1, 2), [0.6, 0.3, 0.1]), (turn @ axes(3), [1.0]), (turn @ axes(5, 4), [0.5, 0.5])
        )
        assert float(iwo_score(found)) == pytest.approx(1.0, abs=1e-10)

    @every_rotation
    def test_iwo_is_below_one_as_soon_as_two_axes_are_not_orthogonal(self, turn):
        tilted = (axes(1) + 0.1 * axes(0)) / np.hypot(1, 0.1)
        found = subspaces((turn @ axes(0), [1.0]), (turn @ tilted, [1.0]), (turn @ axes(2), [1.0]))
        assert float(iwo_score(found)) == pytest.approx(1 - (0.01 / 1.01) / 3, abs=1e-10)

    @every_rotation
    def test_iwo_is_zero_for_the_same_axes_with_the_same_weights(self, turn):
        alpha = [0.5, 0.3, 0.2]
        found = subspaces(*[(turn @ (axes(1, 4, 0) * sign), alpha) for sign in (1, -1, [1, -1, 1])])
        assert float(iwo_score(found)) == pytest.approx(0.0, abs=1e-10)

    @every_rotation
    def test_with_even_weights_any_basis_of_the_same_subspace_will_do(self, turn):
        within = turn[:, :3] @ random_rotation(3, np.random.default_rng(1))
        assert weighted_orthogonality(turn[:, :3], within, even(3), even(3)) == pytest.approx(0.0, abs=1e-10)

    @every_rotation
    def test_iwo_is_above_zero_when_weights_or_axes_differ(self, turn):
        basis = turn @ axes(0, 1)
        first, second = np.array([0.8, 0.2]), np.array([0.5, 0.5])
        assert weighted_orthogonality(basis, basis, first, second) == pytest.approx(
            1 - (np.sqrt(0.4) + np.sqrt(0.1)), abs=1e-10
        )
        assert weighted_orthogonality(basis, basis[:, ::-1], first, first) == pytest.approx(1 - 2 * 0.4, abs=1e-10)

    @every_rotation
    def test_iwr_is_one_for_single_axes_only(self, turn):
        lines = subspaces(*[(turn @ axes(k), [1.0]) for k in range(3)])
        assert float(iwr_score(lines)) == pytest.approx(1.0, abs=1e-10)
        planes = subspaces(*[(turn @ axes(k, k + 1), [0.99, 0.01]) for k in range(3)])
        assert float(iwr_score(planes)) < 0.99

    @every_rotation
    def test_iwr_is_zero_for_even_weights_over_all_axes_only(self, turn):
        assert float(iwr_score(subspaces((turn, list(even(6)))))) == pytest.approx(0.0, abs=1e-10)
        assert float(iwr_score(subspaces((turn, [0.25, 0.25, 0.125, 0.125, 0.125, 0.125])))) > 0.01
        assert float(iwr_score(subspaces((turn[:, :5], list(even(5)))))) > 0.01


class TestPairs:
    @pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4, 1.2, np.pi / 2])
    def test_two_lines_score_the_squared_sine_of_their_angle(self, angle):
        line, turned = np.array([[1.0], [0.0]]), np.array([[np.cos(angle)], [np.sin(angle)]])
        one = np.array([1.0])
        assert weighted_orthogonality(line, turned, one, one) == pytest.approx(np.sin(angle) ** 2, abs=1e-12)
        assert overlap(line, turned) == pytest.approx(np.cos(angle) ** 2, abs=1e-12)

    def test_planes_at_30_and_60_degrees(self):
        c, s = np.cos(np.radians([30, 60])), np.sin(np.radians([30, 60]))
        plane = axes(0, 1)
        turned = axes(0, 1) * c + axes(2, 3) * s
        # Squared cosines are 3/4 and 1/4.
        assert weighted_orthogonality(plane, turned, even(2), even(2)) == pytest.approx(0.5, abs=1e-12)
        assert overlap(plane, turned) == pytest.approx(0.5, abs=1e-12)
        alpha, beta = np.array([0.9, 0.1]), np.array([0.4, 0.6])
        by_hand = 1 - (np.sqrt(0.9 * 0.4) * 3 / 4 + np.sqrt(0.1 * 0.6) * 1 / 4)
        assert weighted_orthogonality(plane, turned, alpha, beta) == pytest.approx(by_hand, abs=1e-12)

    def test_uneven_weights_by_hand(self):
        # Shared: axis 1, of weight 0.36 here and 0.25 there; sqrt(0.36 * 0.25) = 0.3.
        value = weighted_orthogonality(axes(0, 1), axes(2, 1), np.array([0.64, 0.36]), np.array([0.75, 0.25]))
        assert value == pytest.approx(0.7, abs=1e-12)

    @pytest.mark.parametrize(("rank", "shared"), [(1, 0), (2, 1), (3, 1), (3, 2), (3, 3), (4, 2)])
    def test_shared_single_axes_have_a_closed_form(self, rank, shared):
        start = rank - shared
        found = subspaces((axes(*range(rank)), list(even(rank))), (axes(*range(start, start + rank)), list(even(rank))))
        assert float(iwo_score(found)) == pytest.approx(1 - shared / rank, abs=1e-12)
        assert float(orthogonality_score(found)) == pytest.approx(shared / rank, abs=1e-12)
        assert float(iwr_score(found)) == pytest.approx(1 - np.log(rank) / np.log(N_CODES), abs=1e-12)

    def test_a_subspace_inside_another_has_overlap_one(self):
        rng = np.random.default_rng(2)
        outer = random_basis(4, rng)
        inner = outer @ random_rotation(4, rng)[:, :2]
        assert overlap(outer, inner) == pytest.approx(1.0, abs=1e-12)
        assert overlap(inner, outer) == pytest.approx(1.0, abs=1e-12)

    def test_overlap_by_hand(self):
        half = (axes(0) + axes(3)) / np.sqrt(2)
        assert overlap(axes(0, 1), np.hstack([half, axes(4)])) == pytest.approx(0.25, abs=1e-12)
        assert overlap(axes(0, 1), axes(2, 3, 4)) == pytest.approx(0.0, abs=1e-12)

    def test_weights_do_not_matter_to_overlap(self):
        first = subspaces((axes(0, 1), [0.9, 0.1]), (axes(1, 2), [0.9, 0.1]))
        second = subspaces((axes(0, 1), [0.5, 0.5]), (axes(1, 2), [0.2, 0.8]))
        assert float(orthogonality_score(first)) == float(orthogonality_score(second)) == pytest.approx(0.5)

    @every_rotation
    def test_turning_all_subspaces_together_changes_nothing(self, turn):
        rng = np.random.default_rng(3)
        found = [(random_basis(rank, rng), list(random_weights(rank, rng))) for rank in (1, 2, 4)]
        before, after = subspaces(*found), subspaces(*[(turn @ basis, alpha) for basis, alpha in found])
        for score in (iwo_score, iwr_score, orthogonality_score):
            assert float(score(after)) == pytest.approx(float(score(before)), abs=1e-12)

    def test_scores_stay_within_0_and_1(self):
        for rng in np.random.default_rng(4).spawn(50):
            ranks = rng.integers(1, N_CODES + 1, 3)
            found = subspaces(*[(random_basis(rank, rng), list(random_weights(rank, rng))) for rank in ranks])
            assert all(0 <= float(score(found)) <= 1 for score in (iwo_score, iwr_score, orthogonality_score))


class TestScores:
    FOUND = subspaces((axes(0), [1.0]), (axes(0, 1), [0.64, 0.36]), (axes(2), [1.0]))

    def test_matrix_means_and_evidence(self):
        score = iwo_score(self.FOUND)
        np.testing.assert_allclose(score.evidence["iwo"], [[0, 0.2, 1], [0.2, 0, 1], [1, 1, 0]], atol=1e-12)
        np.testing.assert_allclose(score.per_factor, [0.6, 0.6, 1.0])
        assert score.value == pytest.approx(2.2 / 3)
        assert type(score.value) is float

    def test_orthogonality_counts_axes_alike(self):
        score = orthogonality_score(self.FOUND)
        np.testing.assert_allclose(score.evidence["orthogonality"], [[1, 1, 0], [1, 1, 0], [0, 0, 1]], atol=1e-12)
        assert score.value == pytest.approx(1 / 3)

    def test_a_spread_residual_adds_no_axes_to_orthogonality(self):
        lines = [Subspace(basis=axes(k), losses=np.array([1.0, 0.1])) for k in range(2)]
        assert float(orthogonality_score(weigh(lines, SPREAD, N_CODES))) == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("score", [iwo_score, iwr_score])
    def test_weights_and_losses_come_along_padded(self, score):
        evidence = score(self.FOUND).evidence
        np.testing.assert_allclose(evidence["axis_weights"], [[1, 0.64, 1], [np.nan, 0.36, np.nan]])
        np.testing.assert_allclose(evidence["loss_curve"], [[1, 1, 1], [0, 0.36, 0], [np.nan, 0, np.nan]], atol=1e-12)
        assert evidence["axes"].shape[0] == evidence["axis_weights"].shape[1]

    def test_padding(self):
        np.testing.assert_array_equal(
            padded_columns([np.array([1.0, 2.0]), np.array([]), np.array([3.0])]),
            [[1, np.nan, 3], [2, np.nan, np.nan]],
        )

    def test_losses_are_shares_of_the_loss_without_axes(self):
        np.testing.assert_allclose(loss_shares(np.array([4.0, 1.0, 1.0])), [1, 0.25, 0.25])
        np.testing.assert_allclose(loss_shares(np.array([0.0, 0.0])), [1, 1])

    def test_iwr_takes_one_factor(self):
        assert float(iwr_score(subspaces((axes(0, 1), [0.5, 0.5])))) == pytest.approx(1 - np.log(2) / np.log(6))

    def test_iwr_needs_two_codes(self):
        with pytest.raises(ValueError, match="at least two columns for iwr, got 1"):
            iwr_score(subspaces((np.ones((1, 1)), [1.0])))

    def test_rank_by_hand(self):
        # Entropy of (1/2, 1/4, 1/4) is 1.5 bits; log2(8) is 3.
        assert weighted_rank(np.array([0.5, 0.25, 0.25, 0.0]), 8) == pytest.approx(0.5, abs=1e-12)


class TestWeights:
    def test_explained_loss_is_shared_out_by_equation_2(self):
        alpha = importance_weights(np.array([1.0, 0.4, 0.2, 0.2]), 5, weights="explained")
        np.testing.assert_allclose(alpha, [0.75, 0.25], atol=1e-12)

    def test_the_residual_is_spread_by_equation_3(self):
        alpha = importance_weights(np.array([1.0, 0.4, 0.2, 0.2]), 5, weights="spread")
        np.testing.assert_allclose(alpha, [0.64, 0.24, 0.04, 0.04, 0.04], atol=1e-12)

    def test_equation_3_without_a_residual_is_equation_2(self):
        losses = np.array([2.0, 0.5, 0.0])
        np.testing.assert_array_equal(importance_weights(losses, 9, weights="spread"), importance_weights(losses, 9))

    def test_the_floor_is_taken_off_before_spreading(self):
        alpha = importance_weights(np.array([1.1, 0.5, 0.3]), 5, weights="spread", floor=0.1)
        np.testing.assert_allclose(alpha, [0.64, 0.24, 0.04, 0.04, 0.04], atol=1e-12)
        at_floor = importance_weights(np.array([1.1, 0.5, 0.3]), 5, weights="spread", floor=0.4)
        np.testing.assert_allclose(at_floor, [0.75, 0.25], atol=1e-12)

    def test_the_floor_does_not_matter_to_equation_2(self):
        losses = np.array([1.0, 0.4, 0.2])
        np.testing.assert_array_equal(importance_weights(losses, 5, floor=0.15), importance_weights(losses, 5))

    def test_a_loss_that_rises_is_kept_where_it_was(self):
        # One more axis may be ignored, so 0.1 can be had with three axes too.
        alpha = importance_weights(np.array([1.0, 0.4, 0.5, 0.1, 0.3]), 4)
        np.testing.assert_allclose(alpha, [0.6 / 0.9, 0, 0.3 / 0.9], atol=1e-12)
        spread = importance_weights(np.array([1.0, 0.4, 0.5, 0.1, 0.3]), 4, weights="spread")
        np.testing.assert_allclose(spread, [0.625, 0.025, 0.325, 0.025], atol=1e-12)

    def test_a_loss_above_the_first_is_no_importance(self):
        np.testing.assert_allclose(importance_weights(np.array([1.0, 1.3, 0.5]), 4), [0, 1], atol=1e-12)

    @pytest.mark.parametrize("weights", ["explained", "spread"])
    @pytest.mark.parametrize("losses", [[1.0, 1.0, 1.0], [1.0, 1.1, 1.05], [1.0]])
    def test_noise_has_even_weights(self, weights, losses):
        np.testing.assert_allclose(importance_weights(np.array(losses), 4, weights=weights), even(4))

    @pytest.mark.parametrize("options", [EXPLAINED, SPREAD], ids=["explained", "spread"])
    def test_noise_has_rank_score_zero_and_a_note(self, options):
        silent = Subspace(basis=axes(0), losses=np.array([1.0, 1.02]))
        heard = Subspace(basis=axes(0), losses=np.array([1.0, 0.0]))
        found = weigh([silent, heard], options, N_CODES)
        np.testing.assert_allclose(iwr_score(found).per_factor, [0, 1], atol=1e-12)
        for score in (iwo_score, iwr_score, orthogonality_score):
            assert score(found).notes == (
                "The fit of subspaces predicts nothing of “factor_0”, though other probes may: "
                "its weight is spread evenly over all axes.",
            )
        assert iwr_score(weigh([heard], options, N_CODES)).notes == ()

    def test_axes_that_chance_turns_have_a_note_with_the_cure(self):
        by_scale, by_noise, sure = (
            Subspace(basis=axes(0), losses=np.array([1.0, 0.5]), tilt=tilt, standardised_tilt=standardised)
            for tilt, standardised in ((0.25, 0.01), (0.25, 0.2), (0.09, 0.0))
        )
        for score in (iwo_score, iwr_score, orthogonality_score):
            scale, noise = score(weigh([by_scale, by_noise, sure], EXPLAINED, N_CODES)).notes
            assert {scale.kind, noise.kind} == {NoteKind.UNCERTAIN_AXES}
            assert (scale.values, noise.values) == (("“factor_0”", "30"), ("“factor_1”", "30"))
            assert "standardise the codes" in scale
            assert "more rows" in noise

    def test_equation_3_tends_to_equation_2_as_the_residual_vanishes(self):
        rng = np.random.default_rng(5)
        bases = [random_basis(2, rng), random_basis(2, rng)]

        def score(residual: float, options: SubspaceOptions) -> tuple[float, float]:
            losses = np.array([1.0, 0.4, 0.0]) + residual
            found = weigh([Subspace(basis=basis, losses=losses) for basis in bases], options, N_CODES)
            return float(iwo_score(found)), float(iwr_score(found))

        limit = np.array(score(0.0, EXPLAINED))
        errors = [np.abs(np.array(score(residual, SPREAD)) - limit) for residual in (1e-2, 1e-4, 1e-8, 1e-12)]
        assert all((after < before).all() for before, after in pairwise(errors))
        assert (errors[-1] < 1e-5).all()

    def test_a_small_residual_moves_equation_3_by_its_square_root(self):
        # The reason for the default: two orthogonal lines, 1 % of each factor unexplained.
        lines = [Subspace(basis=axes(k), losses=np.array([1.0, 0.01])) for k in range(2)]
        assert float(iwo_score(weigh(lines, EXPLAINED, N_CODES))) == pytest.approx(1.0)
        floor = 0.01 / 6
        by_hand = 1 - (2 * np.sqrt((0.99 + floor) * floor) + 4 * floor)
        assert float(iwo_score(weigh(lines, SPREAD, N_CODES))) == pytest.approx(by_hand, abs=1e-12)
        assert by_hand < 0.92


class TestBases:
    @pytest.mark.parametrize("rank", [0, 1, 3, 6])
    def test_completed_bases_are_orthonormal_and_keep_their_columns(self, rank):
        for rng in np.random.default_rng(6).spawn(20):
            basis = random_basis(rank, rng)
            full = complete_basis(basis, N_CODES)
            np.testing.assert_array_equal(full[:, :rank], basis)
            np.testing.assert_allclose(full.T @ full, np.eye(N_CODES), atol=1e-12)

    def test_axes_of_the_identity_can_be_completed(self):
        full = complete_basis(axes(0, 3), N_CODES)
        np.testing.assert_allclose(full.T @ full, np.eye(N_CODES), atol=1e-12)

    def test_no_more_columns_than_asked_for(self):
        basis = random_basis(4, np.random.default_rng(7))
        np.testing.assert_array_equal(complete_basis(basis, 2), basis[:, :2])
        assert complete_basis(basis, 5).shape == (N_CODES, 5)


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"solver": "fats"}, "solver must be one of fast, nested, got 'fats'; did you mean 'fast'"),
            ({"weights": "even"}, "weights must be one of explained, spread"),
            ({"loss": "l1"}, "loss must be one of likelihood, zero_one"),
            ({"max_rank": 0}, "max_rank must be at least 1, got 0"),
            ({"device": "tpu"}, "device must be one of cpu, cuda"),
        ],
    )
    def test_bad_options_are_named(self, options, message):
        with pytest.raises(ValueError, match=message):
            SubspaceOptions(**options)


class TestWideCodes:
    """Bases of wide codes are not continued by axes of even weight; scores must not depend on it."""

    @pytest.mark.parametrize("weights", ["explained", "spread"])
    def test_scores_of_short_bases_are_those_of_complete_ones(self, monkeypatch, weights):
        rng = np.random.default_rng(0)
        bases = [
            np.linalg.qr(rng.normal(size=(12, 2)))[0],
            np.linalg.qr(rng.normal(size=(12, 3)))[0],
            np.empty((12, 0)),
        ]
        curves = [np.array([1.0, 0.5, 0.2]), np.array([1.0, 0.9, 0.6, 0.5]), np.array([1.0])]
        found = [Subspace(basis=basis, losses=losses) for basis, losses in zip(bases, curves, strict=True)]
        options = SubspaceOptions(weights=weights)
        whole = replace(weigh(found, options, 12), blocks=((0, 1), (2, 3, 4)))
        monkeypatch.setattr("unbraid.evidence.subspaces.options.MOST_WRITTEN", 4)
        short = replace(weigh(found, options, 12), blocks=((0, 1), (2, 3, 4)))
        assert max(basis.shape[1] for basis in short.bases) == 3
        for score in (iwo_score, iwr_score, orthogonality_score):
            np.testing.assert_allclose(score(short).per_factor, score(whole).per_factor, atol=1e-12)
        assert iwo_score(short, blocks=True).value == pytest.approx(iwo_score(whole, blocks=True).value, abs=1e-12)
