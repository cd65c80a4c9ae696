"""Information from counts, on tables of which it is known."""

import numpy as np
import pytest

from unbraid.evidence import counting
from unbraid.evidence.counting import chance_variance, information_of, rough_information


def joint(n_bins: int, n_levels: int, width: float) -> np.ndarray:
    """Probabilities of a band along the diagonal; of independent columns where the band is infinitely wide."""
    x, y = np.linspace(0, 1, n_bins)[:, None], np.linspace(0, 1, n_levels)
    p = np.exp(-0.5 * ((x - y) / width) ** 2)
    return p / p.sum()


def information(p: np.ndarray) -> float:
    return float((p * np.log(np.maximum(p, 1e-300) / np.outer(p.sum(axis=1), p.sum(axis=0)))).sum())


def drawn(p: np.ndarray, n_rows: int, n_tables: int = 60) -> np.ndarray:
    return np.random.default_rng(0).multinomial(n_rows, p.ravel(), size=n_tables).reshape(n_tables, *p.shape)


def estimate(counts: np.ndarray, estimator: str) -> float:
    return information_of(counts[None], np.array([len(counts)]), estimator).mutual_information[0]


@pytest.mark.parametrize("width", [np.inf, 0.5, 0.2, 0.1, 0.03])
@pytest.mark.parametrize(
    ("shape", "n_rows", "tolerance"), [((20, 10), 500, 0.03), ((20, 20), 2000, 0.01), ((20, 100), 2000, 0.035)]
)
def test_sparse_tables_have_hardly_any_bias(shape, n_rows, width, tolerance):
    p = joint(*shape, width)
    found = np.mean([estimate(counts, "schurmann") for counts in drawn(p, n_rows)])
    assert found == pytest.approx(information(p), abs=tolerance)


def test_plug_in_information_of_independent_columns_is_its_bias():
    counts = drawn(joint(20, 20, np.inf), 2000)
    plain, first_order = (np.mean([estimate(one, how) for one in counts]) for how in ("none", "miller_madow"))
    assert plain == pytest.approx(19 * 19 / 4000, rel=0.1)
    assert 0.002 < first_order < 0.01


@pytest.mark.parametrize("estimator", ["none", "miller_madow", "schurmann"])
def test_a_relabelling_has_all_the_information_and_a_full_grid_none(estimator):
    same = np.diag([30, 20, 50])[None]
    found = information_of(same, np.array([3]), estimator)
    assert found.mutual_information[0] == found.factor_entropy == found.code_entropy[0]
    grid = information_of(np.full((1, 4, 5), 3), np.array([4]), estimator)
    assert grid.mutual_information[0] == pytest.approx(0, abs=1e-12)
    assert grid.factor_entropy == pytest.approx(np.log(5), abs=1e-12)


def test_one_value_has_no_entropy():
    found = information_of(np.array([[[7], [3]]]), np.array([2]), "schurmann")
    assert found.factor_entropy == found.mutual_information[0] == 0


@pytest.mark.parametrize("n_rows", [1000, 4000])
def test_chance_variance_is_the_variance_for_independent_columns(n_rows):
    counts = drawn(joint(20, 20, np.inf), n_rows, n_tables=300)
    found = [rough_information(one[None], np.array([20]), "schurmann").mutual_information[0] for one in counts]
    expected = np.mean([chance_variance(one[None], "schurmann")[0] for one in counts])
    assert np.var(found) == pytest.approx(expected, rel=0.35)
    of_half = np.mean([chance_variance(one[None], "schurmann", share=0.5)[0] for one in counts])
    halves = drawn(joint(20, 20, np.inf), n_rows // 2, n_tables=300)
    found = [rough_information(one[None], np.array([20]), "schurmann").mutual_information[0] for one in halves]
    assert np.var(found) == pytest.approx(of_half, rel=0.35)


def test_biases_from_a_table_are_those_of_each_cell(monkeypatch):
    counts = np.random.default_rng(0).multinomial(300, np.full(400, 1 / 400), size=5).reshape(5, 20, 20)
    bins = np.full(5, 20)
    from_table = information_of(counts, bins, "schurmann").mutual_information
    monkeypatch.setattr(counting, "CELLS_A_TERM", 0)
    np.testing.assert_allclose(
        from_table, information_of(counts, bins, "schurmann").mutual_information, rtol=0, atol=1e-12
    )
