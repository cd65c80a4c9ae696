"""Differences: never sure of nothing, surer when paired, honest about many tests."""

from dataclasses import replace

import numpy as np
import pytest

import unbraid as ub
from helpers.reports import build_report
from unbraid._base.stats import corrected
from unbraid.comparison.differences import UNPAIRED, Comparability, difference_word, find_differences

METRICS = "mig,sap,r2"


def world(n=600, *, seed=0, levels=5):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, levels, (n, 2))
    return factors, rng.standard_normal(factors.shape)


def score(codes, factors, *, metrics=METRICS, seed=0, **options):
    return ub.evaluate(codes, factors, metrics=metrics, seed=seed, n_jobs=1, nulls=False, **options)


@pytest.fixture(scope="module")
def pair():
    factors, noise = world()
    return score(factors + 0.3 * noise, factors), score(factors + 0.315 * noise, factors)


def unpaired(one, other):
    """The same reports, as if nothing told that their rows are the same."""
    stripped = replace(other, setup=replace(other.setup, rows_key="other rows"))
    return find_differences({"one": one, "other": stripped})


def test_a_representation_and_itself_never_differ(pair):
    for item in find_differences({"a": pair[0], "b": pair[0]}):
        assert (item.value, item.low, item.high, item.p_value) == (0.0, 0.0, 0.0, 1.0)
        assert (item.sure, item.better, item.paired) == (False, None, True)


def test_reordered_codes_never_differ():
    factors, noise = world()
    codes = factors + 0.3 * noise
    found = find_differences({"a": score(codes, factors), "b": score(codes[:, ::-1].copy(), factors)})
    assert [item.metric for item in found] == ["mig", "sap", "r2"]
    assert not any(item.sure or item.better for item in found)


def test_a_slightly_noisier_copy_is_surely_worse_when_paired_and_not_otherwise(pair):
    found = find_differences({"one": pair[0], "other": pair[1]})
    apart = unpaired(*pair)
    assert all(item.paired and item.sure and item.better == "one" for item in found)
    assert not any(item.paired or item.sure for item in apart)
    for close, far in zip(found, apart, strict=True):
        assert close.value == far.value > 0
        assert far.low < 0 < close.low < close.value < close.high < far.high
        assert far.status is Comparability.OTHER_ROWS


def about(each, value):
    """The scatter of replicates about a value: about their mean, and of the mean from the value."""
    return np.hypot(each.std(ddof=1), each.mean() - value)


def extrapolated(each):
    """The standard error of differences of extrapolated scores: the mean of the replicates counts too."""
    return each.std(ddof=1) * np.sqrt(1 + 1 / len(each))


def error_of(score):
    """The standard error of a score: that of an extrapolated one counts the mean of its replicates too."""
    if score.plain is None:
        return about(score.replicates, score.value)
    return extrapolated(score.replicates)


def test_paired_error_is_the_spread_of_the_differences_of_replicates(pair):
    from scipy.stats import t

    each = pair[0]["mig"].replicates - pair[1]["mig"].replicates
    item = find_differences({"one": pair[0], "other": pair[1]})[0]
    freedom = ub.METRICS["mig"].source.n_replicates - 1
    half_width = t.ppf(0.975, freedom) * extrapolated(each)
    assert len(each) == freedom + 1
    assert (item.low, item.high) == pytest.approx((item.value - half_width, item.value + half_width))
    assert item.p_value == pytest.approx(2 * t.sf(item.value / extrapolated(each), freedom))


def scored(value, replicates, **more):
    score = ub.Score(value=value, low=0, high=1, replicates=np.array(replicates), **more)
    return build_report({"mig": score}, rows_key="same rows")


def test_replicates_at_their_bound_do_not_make_a_small_difference_sure():
    """All replicates score 1, so that they do not scatter; the values differ in the third digit."""
    one, other = scored(1.0, [1.0] * 10), scored(0.998, [1.0] * 10)
    (item,) = find_differences({"one": one, "other": other})
    assert item.p_value > 0.3
    assert not item.sure


def test_replicates_to_one_side_of_the_value_count_their_distance():
    rng = np.random.default_rng(0)
    drawn = 0.01 * rng.standard_normal((2, 100))
    one, other = scored(0.5, 0.5 + drawn[0]), scored(0.45, 0.5 + drawn[1])
    (item,) = find_differences({"one": one, "other": other})
    assert not item.sure  # by the scatter alone, 0.05 would be more than three standard errors


def test_an_extrapolated_score_has_the_error_of_the_mean_of_its_replicates_too():
    from scipy.stats import t

    drawn = 0.01 * np.random.default_rng(0).standard_normal((2, 5))
    one, other = scored(0.6, 0.5 + drawn[0], plain=0.55), scored(0.3, 0.4 + drawn[1], plain=0.35)
    (item,) = find_differences({"one": one, "other": other})
    error = (drawn[0] - drawn[1]).std(ddof=1) * np.sqrt(1 + 1 / 5)
    assert item.p_value == pytest.approx(2 * t.sf(0.3 / error, 4))


def test_unpaired_error_adds_in_quadrature_with_welch_freedom(pair):
    from scipy.stats import ttest_ind_from_stats

    a, b = (report["r2"] for report in pair)
    item = next(item for item in unpaired(*pair) if item.metric == "r2")
    # Welch's test of means of n values divides by n; replicates already scatter as the score does.
    n = len(a.replicates)
    spread = [error_of(score) * np.sqrt(n) for score in (a, b)]
    expected = ttest_ind_from_stats(a.value, spread[0], n, b.value, spread[1], n, equal_var=False)
    assert item.p_value == pytest.approx(expected.pvalue)


def test_replicates_scatter_as_the_interval_says(pair):
    from scipy.stats import t

    for name in METRICS.split(","):
        score = pair[0][name]
        widened = 1.0 if score.plain is None else np.sqrt(1 + 1 / len(score.replicates))  # the value is extrapolated
        half_width = t.ppf(0.975, len(score.replicates) - 1) * score.replicates.std(ddof=1) * widened
        # R² is extrapolated by a little less than one over the rows, as its fits lose a row to each code.
        tolerance = 5e-5 if name == "r2" else 1e-7
        assert score.high == pytest.approx(min(1.0, score.value + half_width), abs=tolerance)


def test_replicates_on_less_than_half_the_rows_are_moved_together():
    """Five of eleven rows scatter more than eleven would, by the root of 6 / 5."""
    rng = np.random.default_rng(0)
    factors, noise = rng.standard_normal((11, 2)), rng.standard_normal((11, 2))
    found = score(factors + 2 * noise, factors, metrics="mcc")["mcc"]
    from scipy.stats import t

    half_width = t.ppf(0.975, 9) * found.replicates.std(ddof=1) * np.sqrt(1 + 5 / 6 / 10)
    assert found.low > 0
    assert found.low == pytest.approx(found.value - half_width, abs=1e-7)


@pytest.mark.slow
def test_interval_of_no_difference_covers_zero_as_often_as_it_says():
    """Two encoders of equal quality, with noise of their own: 95 % of paired intervals should hold zero."""
    hits = {"mig": [], "r2": []}
    for seed in range(100):
        factors, noise = world(150, seed=seed, levels=4)
        other = np.random.default_rng([seed, 1]).standard_normal(noise.shape)
        found = find_differences(
            {
                name: score(factors + 0.4 * drawn, factors[:, :1], metrics="mig,r2", seed=seed)
                for name, drawn in (("a", noise), ("b", other))
            }
        )
        for item in found:
            assert item.paired
            hits[item.metric].append(item.low <= 0 <= item.high)
    # Of 100, binomial with 0.95: fewer than 89 once in 200 simulations.
    assert all(sum(held) >= 89 for held in hits.values()), {name: sum(held) for name, held in hits.items()}


def test_lower_is_better_where_the_score_says_so():
    factors, noise = world()
    codes = factors + 0.3 * noise
    mixed = codes @ np.array([[1.0, 0.9], [0.0, 1.0]])
    (item,) = find_differences(
        {name: score(z, factors, metrics="total_correlation") for name, z in (("plain", codes), ("mixed", mixed))}
    )
    assert item.value < 0
    assert item.better == "plain"
    assert item.sure


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"seed": 1}, Comparability.OTHER_SEEDS),
        ({"n_bins": 10}, Comparability.OTHER_OPTIONS),
        ({"factors": None}, Comparability.ROWS_UNKNOWN),
        ({"rows": 500}, Comparability.OTHER_ROWS),
    ],
)
def test_what_does_not_match_is_unpaired_and_says_why(change, status):
    factors, noise = world()
    codes, metric = factors + 0.3 * noise, "total_correlation" if "factors" in change else "mig"
    given = None if "factors" in change else factors
    n = change.pop("rows", len(codes))
    change.pop("factors", None)
    one = score(codes, given, metrics=metric)
    other = score(codes[:n], None if given is None else given[:n], metrics=metric, **change)
    (item,) = find_differences({"a": one, "b": other})
    assert (item.paired, item.status) == (False, status)
    assert item.note == f"unpaired: {UNPAIRED[status]}"
    assert item.p_value is not None


def test_other_versions_draw_other_rows(pair):
    old = replace(pair[1], setup=replace(pair[1].setup, unbraid="0.0.1"))
    assert {item.status for item in find_differences({"a": pair[0], "b": old})} == {Comparability.OTHER_VERSIONS}


def test_scores_without_intervals_or_values_are_not_tested(pair):
    factors, noise = world()
    bare = ub.evaluate(factors + noise, factors, metrics="mig", intervals=False, nulls=False, n_jobs=1)
    (item,) = find_differences({"a": pair[0], "b": bare})
    assert (item.p_value, item.low, item.sure, item.better) == (None, None, False, "a")
    assert (item.status, item.note) == (Comparability.NO_INTERVAL, "not tested: a score has no interval")
    broken = build_report({"mig": ub.Score(value=np.nan)})
    (item,) = find_differences({"a": pair[0], "b": broken})
    assert (item.better, item.status) == (None, Comparability.NOT_FINITE)


def test_a_replicate_that_failed_is_left_out_of_both(pair):
    a, b = pair[0]["mig"], pair[1]["mig"]
    holed = b.replicates.copy()
    holed[:10] = np.nan
    other = replace(pair[1], scores={"mig": replace(b, replicates=holed)})
    (item,) = find_differences({"a": pair[0], "b": other})
    from scipy.stats import t

    each = (a.replicates - b.replicates)[10:]
    assert item.p_value == pytest.approx(2 * t.sf(item.value / extrapolated(each), len(each) - 1))


def test_holm_agrees_with_the_textbook():
    np.testing.assert_allclose(corrected(np.array([0.01, 0.04, 0.03, 0.005]), "holm"), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(corrected(np.array([0.5, 0.9]), "holm"), [1.0, 1.0])
    assert corrected(np.array([]), "holm").size == 0


def test_more_tests_need_stronger_evidence(pair):
    two = {"a": pair[0], "b": pair[1]}
    few, many = find_differences(two), find_differences({**two, "c": pair[0], "d": pair[0]})
    assert len(many) == 6 * len(few)
    assert many[0].p_value == few[0].p_value
    assert many[0].adjusted > few[0].adjusted


def test_against_keeps_the_pairs_of_one(pair):
    reports = {"a": pair[0], "b": pair[1], "c": pair[0]}
    compared = ub.compare(reports, against="b")
    assert {(item.first, item.second) for item in compared.differences} == {("a", "b"), ("b", "c")}
    with pytest.raises(ValueError, match="against must be one of a, b, c, got 'x'"):
        ub.compare(reports, against="x")


def test_the_same_rows_are_known_by_their_factors():
    factors, noise = world()
    codes = factors + noise
    key = ub.Representation(codes, factors).rows_key
    assert key == ub.Representation(noise, factors.astype(float)).rows_key
    assert ub.Representation(codes).rows_key is None
    swapped = factors.copy()
    swapped[[0, 1]] = swapped[[int(np.flatnonzero((factors != factors[0]).any(axis=1))[0]), 0]]
    for other in (factors[::-1], factors[:, :1], factors[:-1], swapped):
        assert ub.Representation(codes[: len(other)], other).rows_key != key
    assert ub.Representation(codes, factors, names=["x", "y"]).rows_key != key
    assert ub.Representation(codes, factors, kinds=["categorical", None]).rows_key != key


def test_dci_es_judges_representations_of_any_width_on_the_same_rows():
    factors, noise = world(200)
    codes = factors + 0.3 * noise
    wide = np.column_stack([codes, np.ones(200)])  # a dead code, that no probe is fitted on
    options = {"metrics": "dci_es.informativeness", "options": {"dci_es": {"ladder": "linear"}}}
    a, b = (score(z, factors, **options)["dci_es.informativeness"].replicates for z in (codes, wide))
    np.testing.assert_array_equal(a, b)


def label_free(n_codes, *, rows=500, nulls=True, mix=0.0):
    codes = np.random.default_rng(n_codes).standard_normal((rows, n_codes))
    codes[:, 1] += mix * codes[:, 0]
    return ub.evaluate(codes, metrics="total_correlation,wasserstein_correlation", n_jobs=1, nulls=nulls)


def test_independent_codes_are_not_worse_for_being_many():
    few, many = label_free(3), label_free(30)
    found = find_differences({"few": few, "many": many})
    assert not any(item.better or item.sure for item in found)
    assert all(item.equal for item in found)  # extrapolated to many rows, both are 0


def test_scores_whose_chance_levels_differ_are_not_tested():
    few, many = label_free(3), label_free(30)
    (plain,) = find_differences(
        {
            name: replace(one, scores={"total_correlation": replace(score, value=score.plain, plain=None)})
            for name, one in (("few", few), ("many", many))
            for score in (one["total_correlation"],)
        }
    )
    assert plain.status is Comparability.CHANCE_DIFFERS
    assert plain.p_value is None
    assert plain.better is None
    assert plain.note.startswith("not tested: chance alone scores 0.0")
    assert plain.note.endswith("with 3 and 30 codes")


def test_codes_that_depend_are_worse_whatever_their_number():
    found = find_differences({"tied": label_free(4, mix=3.0), "free": label_free(3)})
    assert found[0].better == "free"
    assert found[0].sure


def test_as_many_codes_and_rows_are_tested_and_other_rows_without_chance_are_not():
    assert all(item.p_value is not None for item in find_differences({"a": label_free(4), "b": label_free(4, mix=0.1)}))
    apart = find_differences({"a": label_free(4, nulls=False), "b": label_free(4, rows=400, nulls=False)})
    assert {item.status for item in apart} == {Comparability.CHANCE_DIFFERS}
    assert "may differ, which was not computed, with 500 and 400 rows" in apart[0].note


@pytest.mark.parametrize(
    ("nudge", "jitter", "word"),
    [(0.0, 0.0, "equal"), (1e-4, 1.5e-4, "equal"), (2e-4, 1e-2, "unsure"), (2e-4, 0.0, "sure")],
)
def test_equal_to_the_digits_shown_is_equal(pair, nudge, jitter, word):
    one = pair[0]
    score = one["r2"]
    drawn = score.replicates + nudge + jitter * np.linspace(-1, 1, len(score.replicates))
    moved = replace(score, value=score.value + nudge, plain=score.plain + nudge, replicates=drawn)
    other = replace(one, scores={"r2": moved})
    (item,) = find_differences({"a": replace(one, scores={"r2": score}), "b": other})
    assert difference_word(item) == word
    assert item.equal is (item.better is None) is (word == "equal")


def test_scores_of_other_numbers_of_axes_are_not_tested():
    """A radius in one code, and in two: replicates keep the number of axes, and show no scatter of it."""
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(600, 2))
    radius = np.hypot(*plane.T)
    one, two = (score(codes, radius, metrics=["iwr"]) for codes in (np.stack([radius, plane[:, 0]], axis=1), plane))
    (item,) = find_differences({"one": one, "two": two})
    assert (item.p_value, item.sure, item.status) == (None, False, Comparability.OTHER_AXES)
