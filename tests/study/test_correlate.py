import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, spearmanr

from helpers.study_tables import study
from unbraid._base.stats import corrected
from unbraid.study import correlations, pivot
from unbraid.study.analysis.correlate import _drawn, bootstrap

PEERS = {"pearson": pearsonr, "spearman": spearmanr}
every_method = pytest.mark.parametrize("method", PEERS)


def frame(n=30, seed=0, names="abcd"):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, len(names))) + rng.normal(size=(n, 1))
    return pd.DataFrame(values, columns=list(names))


@every_method
def test_a_line_correlates_by_exactly_one(method):
    x = np.linspace(0.1, 0.7, 9)
    values = pd.DataFrame({"up": x, "down": 5 - 3 * x})
    found = correlations(values, ["up"], ["up", "down"], method=method)
    assert found.r.loc["up"].tolist() == pytest.approx([1.0, -1.0], abs=1e-15)
    assert found.p.loc["up", "down"] == pytest.approx(0.0, abs=1e-12)
    assert (found.low.loc["up", "down"], found.high.loc["up", "down"]) == pytest.approx((-1.0, -1.0))


def test_a_curve_is_one_in_ranks_only():
    x = np.arange(1.0, 12)
    values = pd.DataFrame({"x": x, "y": np.exp(x)})
    assert correlations(values, ["x"], ["y"], method="spearman").r.iloc[0, 0] == pytest.approx(1.0)
    assert correlations(values, ["x"], ["y"]).r.iloc[0, 0] < 0.7


@every_method
def test_a_balanced_square_has_none(method):
    values = pd.DataFrame({"x": [0.0, 0, 1, 1] * 5, "y": [0.0, 1, 0, 1] * 5})
    found = correlations(values, ["x"], ["y"], method=method)
    assert found.r.iloc[0, 0] == pytest.approx(0.0, abs=1e-15)
    assert found.p.iloc[0, 0] == pytest.approx(1.0)
    assert found.low.iloc[0, 0] < 0 < found.high.iloc[0, 0]


@every_method
@pytest.mark.parametrize("n", [3, 4, 30])
def test_coefficients_and_p_values_are_those_of_scipy(method, n):
    values = frame(n).round(1)  # ties
    found = correlations(values, list("ab"), list("cd"), method=method, n_bootstrap=0)
    for row in "ab":
        for column in "cd":
            r, p = PEERS[method](values[row], values[column])
            assert found.r.loc[row, column] == pytest.approx(r, abs=1e-12)
            assert found.p.loc[row, column] == pytest.approx(p, abs=1e-12)
            assert found.n.loc[row, column] == n


@every_method
def test_a_pair_uses_the_models_that_have_both(method):
    values = frame()
    values.loc[[0, 4], "a"] = np.nan
    values.loc[[4, 7, 9], "c"] = np.inf
    found = correlations(values, list("ab"), list("cd"), method=method)
    for row in "ab":
        for column in "cd":
            both = values[[row, column]].replace(np.inf, np.nan).dropna()
            assert found.r.loc[row, column] == pytest.approx(PEERS[method](both[row], both[column])[0], abs=1e-12)
            assert found.n.loc[row, column] == len(both)
            assert found.low.loc[row, column] < found.r.loc[row, column] < found.high.loc[row, column]
    assert found.n.to_numpy().tolist() == [[26, 28], [27, 30]]


@every_method
def test_resamples_are_what_drawing_models_one_by_one_gives(method):
    values = frame(12).round(1).to_numpy()
    drawn = bootstrap(values[:, :2], values[:, 2:], is_ranked=method == "spearman", n_resamples=20, seed=3)
    weights = _drawn(np.random.default_rng(3), 12, 20).astype(int)
    for one, times in zip(drawn, weights, strict=True):
        again = np.repeat(values, times, axis=0)
        expected = [[PEERS[method](again[:, i], again[:, j])[0] for j in (2, 3)] for i in (0, 1)]
        np.testing.assert_allclose(one, expected, atol=1e-12)


def test_resamples_are_the_same_in_small_helpings(monkeypatch):
    values = frame(12).to_numpy()
    options = {"is_ranked": True, "n_resamples": 20, "seed": 3}
    whole = bootstrap(values[:, :2], values[:, 2:], **options)
    monkeypatch.setattr("unbraid.study.analysis.correlate.MOST_NUMBERS", 100)
    np.testing.assert_array_equal(bootstrap(values[:, :2], values[:, 2:], **options), whole)


@pytest.mark.slow
@every_method
def test_interval_covers_the_true_correlation_about_as_often_as_it_says(method):
    rho, repeats = 0.6, 50
    truth = rho if method == "pearson" else 6 / np.pi * np.arcsin(rho / 2)
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(50, repeats))
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
        names = [[f"{side}{k}" for k in range(repeats)] for side in "xy"]
        values = pd.DataFrame(np.hstack([x, y]), columns=[*names[0], *names[1]])
        found = correlations(values, *names, method=method, n_bootstrap=300, seed=seed)
        covered += ((np.diag(found.low) < truth) & (truth < np.diag(found.high))).tolist()
    assert 0.90 < np.mean(covered) < 0.985


def test_a_wider_confidence_gives_a_wider_interval():
    narrow, usual = (correlations(frame(), ["a"], ["b"], confidence=level) for level in (0.5, 0.95))
    assert usual.low.iloc[0, 0] < narrow.low.iloc[0, 0] < narrow.high.iloc[0, 0] < usual.high.iloc[0, 0]


def test_noise_is_called_significant_no_more_often_than_said():
    rng = np.random.default_rng(0)
    values = pd.DataFrame(rng.normal(size=(40, 40)), columns=[f"c{k}" for k in range(40)])
    bare = correlations(values, list(values)[:20], list(values)[20:], n_bootstrap=0, correct="none")
    assert 0.03 < bare.significant().to_numpy().mean() < 0.08
    for correct in ("holm", "fdr_bh"):
        held = correlations(values, list(values)[:20], list(values)[20:], n_bootstrap=0, correct=correct)
        assert held.n_tests == 400
        assert not held.significant().to_numpy().any()


def test_corrections_by_hand():
    p = np.array([[0.01, 0.04, np.nan], [0.03, 0.005, 0.5]])
    np.testing.assert_allclose(corrected(p, "holm"), [[0.04, 0.09, np.nan], [0.09, 0.025, 0.5]])
    np.testing.assert_allclose(corrected(p, "fdr_bh"), [[0.025, 0.05, np.nan], [0.05, 0.025, 0.5]])
    np.testing.assert_array_equal(corrected(p, "none"), p)
    assert corrected(np.array([0.6, 0.7]), "holm").tolist() == [1.0, 1.0]


def test_each_pair_is_one_test_and_a_column_with_itself_none():
    found = correlations(frame(), list("abc"), list("abcd"), n_bootstrap=0)
    assert found.n_tests == 6
    assert found.r.loc["a", "a"] == 1.0
    assert np.isnan(found.p.loc["a", "a"])
    assert found.p_corrected.loc["a", "b"] == found.p_corrected.loc["b", "a"]
    smallest = found.tidy().sort_values("p").iloc[0]
    assert smallest["p_corrected"] == pytest.approx(6 * smallest["p"])
    assert len(found.tidy()) == 6


def test_a_part_is_corrected_for_its_own_tests():
    part = correlations(frame(), list("abc"), list("abcd"), n_bootstrap=0).part(["a"], ["b", "d"])
    assert part.n_tests == 2
    assert part.p_corrected.min().min() == pytest.approx(2 * part.p.min().min())


def test_what_is_constant_has_no_correlation_and_a_note():
    values = frame().assign(flat=0.1 + 0.2, nearly=0.3 + 1e-17 * np.arange(30))
    found = correlations(values, ["a"], ["flat", "nearly", "b"])
    assert found.r.loc["a"].isna().tolist() == [True, True, False]
    assert found.p.loc["a"].isna().tolist() == [True, True, False]
    assert found.n_tests == 1
    assert found.notes == ("Constant over these models, so without correlation: flat, nearly.",)


def test_a_column_that_hardly_varies_between_a_few_models_still_resamples():
    values = pd.DataFrame({"a": [0.0] * 9 + [1.0], "b": np.arange(10.0)})
    found = correlations(values, ["a"], ["b"])  # a third of the resamples lacks the only 1
    assert np.isfinite(found.low.iloc[0, 0])
    assert found.low.iloc[0, 0] <= found.r.iloc[0, 0] <= found.high.iloc[0, 0]


def test_two_models_are_too_few():
    found = correlations(frame(2), ["a"], ["b"])
    assert found.r.isna().all(axis=None)
    assert found.n_tests == 0
    assert "Fewer than 3 models have both values in 1 pairs" in found.notes[0]
    assert "too narrow" in correlations(frame(6), ["a"], ["b"]).notes[0]


def test_order_of_models_and_columns_does_not_matter_and_the_seed_does():
    table = study()
    whole = correlations(pivot(table))
    mixed = correlations(pivot(table.sample(frac=1, random_state=1)))
    turned = correlations(pivot(table), pivot(table).scores[::-1], pivot(table).tasks[::-1])
    other = correlations(pivot(table), seed=1)
    for name in ("r", "p", "p_corrected", "low", "high", "n"):
        pd.testing.assert_frame_equal(getattr(mixed, name), getattr(whole, name))
        pd.testing.assert_frame_equal(
            getattr(turned, name).loc[whole.r.index, whole.r.columns], getattr(whole, name), rtol=1e-12
        )
    assert not np.allclose(other.low, whole.low)
    pd.testing.assert_frame_equal(other.r, whole.r)


def test_tidy_is_strongest_first_and_goes_to_csv(tmp_path):
    found = correlations(pivot(study()))
    tidy = found.tidy()
    assert tidy["r"].abs().is_monotonic_decreasing
    assert tidy.iloc[0][["row", "column"]].tolist() == ["mig", "task:size/linear@100"]
    read = pd.read_csv(found.to_csv(tmp_path / "found.csv"))
    pd.testing.assert_frame_equal(read, tidy, check_dtype=False)


def test_latex_has_stars_and_escapes(tmp_path):
    values = pd.DataFrame({"a_b": np.arange(9.0), "50%": np.arange(9.0), "flat": 1.0, "wave": np.cos(np.arange(9))})
    found = correlations(values, ["a_b"], ["50%", "wave", "flat"])
    text = found.to_latex(tmp_path / "found.tex")
    assert (tmp_path / "found.tex").read_text() == text
    assert r" & 50\% & wave & flat \\" in text
    assert r"a\_b & $1.00^{*}$ & $" in text
    assert r" & -- \\" in text
    assert text.startswith("% Pearson correlation, 95% bootstrap confidence intervals from 1,000 resamples")
    assert "(2 tests)" in text


def test_text_for_a_terminal():
    values = pd.DataFrame({"a[b]": np.arange(9.0), "line": -np.arange(9.0), "flat": 1.0})
    found = correlations(values, ["a[b]"], ["line", "flat"], n_bootstrap=0)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["line", "flat"]
    assert lines[1].split() == ["a[b]", "-1.00*", "\u2013"]
    assert "Holm's correction" in repr(found)
    assert "without confidence intervals" in repr(found)
    assert "\x1b[" in found.to_text(colour=True)
    assert "\x1b[" not in repr(found)


def test_many_columns_are_numbered_in_text():
    names = [f"a rather long name {k}" for k in range(8)]
    text = repr(correlations(frame(names=names), names[:1], names[1:], n_bootstrap=0))
    assert text.splitlines()[0].split() == list("1234567")
    assert "7  a rather long name 7" in text


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="method must be one of pearson, spearman, got 'kendall'"):
        correlations(frame(), ["a"], ["b"], method="kendall")
    with pytest.raises(ValueError, match="correct must be one of holm, fdr_bh, none, got 'bonferroni'"):
        correlations(frame(), ["a"], ["b"], correct="bonferroni")
    with pytest.raises(ValueError, match="rows must be one of a, b, c, d, got 'e'"):
        correlations(frame(), ["e"], ["b"])
    with pytest.raises(ValueError, match="rows and columns must be named for a plain DataFrame"):
        correlations(frame())
    with pytest.raises(ValueError, match="columns must name at least one column, got none"):
        correlations(frame(), ["a"], [])
    with pytest.raises(ValueError, match="columns must name each column once, got b, b"):
        correlations(frame(), ["a"], ["b", "b"])
    with pytest.raises(ValueError, match=r"confidence must lie between 0 and 1, got 95"):
        correlations(frame(), ["a"], ["b"], confidence=95)
    with pytest.raises(ValueError, match="n_bootstrap must be at least 0, got -1"):
        correlations(frame(), ["a"], ["b"], n_bootstrap=-1)
