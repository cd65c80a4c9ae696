import numpy as np
import pytest
from scipy.stats import entropy as scipy_entropy

from helpers.worlds import full_grid, random_factors
from unbraid import Representation
from unbraid.evidence import information as subject
from unbraid.evidence.counting import entropy
from unbraid.evidence.information import (
    InformationOptions,
    counts_by_products,
    information_table,
    joint_counts,
    resampled_tables,
)


def test_entropy_agrees_with_scipy():
    counts = np.random.default_rng(0).integers(0, 9, size=(5, 7)).astype(float)
    np.testing.assert_allclose(entropy(counts), scipy_entropy(counts, axis=1), rtol=1e-12)


def test_joint_counts_leave_out_unlabelled_rows():
    bins = np.array([[0, 1, 1, 0]], dtype=np.int16)
    labels = np.array([0, 1, -1, 1])
    np.testing.assert_array_equal(joint_counts(bins, 2, labels, 2), [[[1, 1], [0, 1]]])


def test_counts_by_products_are_those_of_factors_one_by_one(monkeypatch):
    monkeypatch.setattr(subject, "TILE_ROWS", 64)
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 5, (70, 300)).astype(np.uint8)
    factors = [(rng.integers(-1, n_levels, 300), n_levels) for n_levels in (2, 3, 4)]
    for found, (labels, n_levels) in zip(counts_by_products(bins, 5, factors), factors, strict=True):
        np.testing.assert_array_equal(found, joint_counts(bins, 5, labels, n_levels))


def test_information_of_wide_codes_is_that_of_a_few_at_a_time():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.integers(0, 2 + k % 4, 200) for k in range(10)])
    codes = rng.normal(size=(200, 80))
    wide = information_table(Representation(codes, factors), InformationOptions())
    few = information_table(Representation(codes[:, :20], factors), InformationOptions())
    np.testing.assert_array_equal(wide.mutual_information[:20], few.mutual_information)


def test_entropies_and_information_obey_the_chain_rule():
    factors = random_factors(4, 5)
    codes = np.random.default_rng(0).standard_normal((2000, 3))
    table = information_table(Representation(codes, factors), InformationOptions(n_bins=6))
    np.testing.assert_allclose(
        table.joint_entropy, table.code_entropy + table.factor_entropy - table.mutual_information, rtol=1e-12
    )
    assert (table.mutual_information <= np.minimum(table.code_entropy, table.factor_entropy)).all()
    assert (table.mutual_information < table.as_counted).all()


@pytest.mark.parametrize("signal", [0.0, 0.4, 2.0])
def test_resamples_centre_on_the_table_and_scatter_like_fresh_samples(signal):
    """Independent columns are the hard case: their information scatters with 1 / N, and twice as much on halves."""

    def world(seed):
        rng = np.random.default_rng(seed)
        v = rng.integers(8, size=(1000, 1))
        return Representation(signal * v / 2.3 + rng.standard_normal((1000, 2)), v)

    options = InformationOptions()
    fresh = [information_table(world(seed), options).mutual_information[0, 0] for seed in range(150)]
    spread = []
    for seed in range(10):
        tables = resampled_tables(world(seed), options, n_resamples=24, rng=np.random.default_rng(seed))
        resampled = [table.mutual_information[0, 0] for table in tables]
        assert np.mean(resampled) == pytest.approx(fresh[seed], abs=1e-3)
        spread.append(np.std(resampled, ddof=1))
    assert np.mean(spread) == pytest.approx(np.std(fresh), rel=0.35)


def test_resamples_keep_codes_tied_to_each_other():
    """A copied code has the same information in every resample, so their difference has no spread."""
    factors = random_factors(4, n_samples=500)
    noisy = factors + 0.5 * np.random.default_rng(0).standard_normal(factors.shape)
    rep = Representation(np.hstack([noisy, noisy]), factors)
    tables = resampled_tables(rep, InformationOptions(), n_resamples=20, rng=np.random.default_rng(0))
    for table in tables:
        assert table.mutual_information[0, 0] == pytest.approx(table.mutual_information[1, 0], abs=1e-6)


def test_perfect_grid_has_no_spread_in_its_share():
    grid = full_grid(4, 4)
    tables = resampled_tables(
        Representation(np.tile(grid, (50, 1)), np.tile(grid, (50, 1))),
        InformationOptions(),
        n_resamples=10,
        rng=np.random.default_rng(0),
    )
    for table in tables:
        np.testing.assert_allclose(np.diagonal(table.mutual_information), table.factor_entropy, atol=1e-5)
