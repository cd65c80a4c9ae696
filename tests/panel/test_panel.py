import json

import numpy as np
import pytest

import unbraid as ub
from helpers.worlds import random_factors, standardised
from unbraid import METRICS, Representation
from unbraid.interpret.chance import AgainstChance, against_chance, beyond
from unbraid.panel.plan import resolve_metrics
from unbraid.results.note import NoteKind

FACTORS = random_factors(4, 5, 6, n_samples=800)
LEVELS = standardised(FACTORS.astype(float))
CODES = np.column_stack([LEVELS, np.random.default_rng(0).standard_normal(800)])
QUICK = ["mig", "modularity", "sap", "z_min_var", "dci_linear", "r2", "explicitness", "total_correlation"]


def scores_of(report: ub.Report) -> dict:
    """Scores as JSON has them, where what is not a number equals itself."""
    return json.loads(report.to_json())["scores"]


def noisy_world(seed: int, n_samples: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    factors = rng.integers([4, 5], size=(n_samples, 2))
    codes = standardised(factors.astype(float)) @ [[1, 0.3, 0], [0.2, 1, 0]] + 0.4 * rng.standard_normal((n_samples, 3))
    return codes, factors


class TestWhatIsScored:
    @pytest.mark.slow
    def test_default_is_every_metric_the_input_supports_but_the_dearest(self):
        report = ub.evaluate(CODES, FACTORS, intervals=False, nulls=False)
        assert list(report) == [name for name, metric in METRICS.items() if metric.in_default]
        assert report.failures == {}

    def test_all_is_every_metric(self):
        assert [metric.name for metric in resolve_metrics("all")] == list(METRICS)
        dear = {metric.family for metric in METRICS.values()} - {metric.family for metric in resolve_metrics("default")}
        assert "dci_es" in dear

    def test_codes_alone_get_the_label_free_metrics(self):
        report = ub.evaluate(CODES)
        assert list(report) == ["total_correlation", "wasserstein_correlation", "code_mutual_information"]
        assert any("Left out, for want of labelled factors (0 given): z_diff" in note for note in report.notes)

    def test_one_factor_leaves_out_what_needs_two(self):
        report = ub.evaluate(CODES, FACTORS[:, :1], intervals=False, nulls=False)
        assert "mig" in report
        assert "z_diff" not in report
        assert "z_diff" not in report.failures

    def test_family_name_stands_for_its_scores(self):
        names = [metric.name for metric in resolve_metrics("mig,dci_forest")]
        assert names == ["mig", "dci_forest.disentanglement", "dci_forest.completeness", "dci_forest.informativeness"]

    def test_unknown_metric_is_answered_with_the_nearest(self):
        with pytest.raises(ValueError, match="did you mean 'mig'"):
            ub.evaluate(CODES, FACTORS, metrics=["migg"])

    def test_no_metric_is_an_error(self):
        with pytest.raises(ValueError, match="metrics must name at least one metric"):
            ub.evaluate(CODES, FACTORS, metrics=[])


class TestOptions:
    def test_bins_reach_every_metric_that_bins(self):
        report = ub.evaluate(CODES, FACTORS, metrics=["mig"], n_bins=7, binning="uniform", nulls=False)
        assert report["mig"].value == float(ub.metrics.mig(CODES, FACTORS, n_bins=7, binning="uniform"))

    def test_own_options_reach_evidence_and_score(self):
        report = ub.evaluate(
            CODES,
            FACTORS,
            metrics=["mig", "mig_sup", "explicitness"],
            options={"mig": {"normalise_by": "code", "n_bins": 8}, "explicitness": {"normalised": True}},
            intervals=False,
            nulls=False,
        )
        assert report["mig"].value == float(ub.metrics.mig(CODES, FACTORS, normalise_by="code", n_bins=8))
        assert report["mig_sup"].value == float(ub.metrics.mig_sup(CODES, FACTORS))
        np.testing.assert_allclose(report["explicitness"].per_factor, 2 * report["explicitness"].evidence["auc"] - 1)

    def test_unknown_option_names_what_the_metric_takes(self):
        with pytest.raises(ValueError, match=r"options for mig must be among n_bins, binning, .*, got 'bins'"):
            ub.evaluate(CODES, FACTORS, metrics=["mig"], options={"mig": {"bins": 3}})

    def test_options_for_a_metric_not_asked_for_are_refused(self):
        with pytest.raises(
            ValueError, match="options names 'mgi', which is not among the metrics asked for; did you mean"
        ):
            ub.evaluate(CODES, FACTORS, options={"mgi": {}})

    def test_an_option_that_the_score_asked_for_would_not_read_is_refused(self):
        with pytest.raises(ValueError, match=r"options for infomec must be among n_bins, .*, got 'evaluate_on'"):
            ub.evaluate(CODES, FACTORS, metrics=["infomec.modularity"], options={"infomec": {"evaluate_on": "x"}})

    def test_a_word_the_score_does_not_know_is_refused_before_the_work(self):
        with pytest.raises(ValueError, match="option normalise_by of mig must be one of factor, code, got 'size'"):
            ub.evaluate(CODES, FACTORS, metrics=["mig", "sap"], options={"mig": {"normalise_by": "size"}})

    def test_options_used_are_recorded_for_each_metric(self):
        report = ub.evaluate(CODES, FACTORS, metrics=["mig", "mig_sup"], options={"mig": {"n_bins": 5}}, nulls=False)
        assert report.setup.options["mig"]["n_bins"] == 5
        assert report.setup.options["mig_sup"]["n_bins"] == 20

    @pytest.mark.parametrize(("option", "value"), [("seed", -1), ("n_jobs", 0)])
    def test_bad_numbers_are_named(self, option, value):
        with pytest.raises(ValueError, match=f"{option} must be at least"):
            ub.evaluate(CODES, FACTORS, **{option: value})


class TestSameSeedSameNumber:
    @pytest.mark.slow
    def test_any_number_of_workers_gives_identical_scores(self):
        one, three = (ub.evaluate(CODES, FACTORS, metrics=[*QUICK, "dci_boosting"], n_jobs=n) for n in (1, 3))
        assert scores_of(one) == scores_of(three)

    @pytest.mark.slow
    def test_company_does_not_change_a_score(self):
        alone, together = (ub.evaluate(CODES, FACTORS, metrics=names) for names in (["sap"], QUICK))
        assert scores_of(alone)["sap"] == scores_of(together)["sap"]

    @pytest.mark.slow
    def test_another_seed_moves_sampled_scores(self):
        first, second = (ub.evaluate(CODES[::-1], FACTORS, metrics=["z_min_var"], seed=s) for s in (0, 1))
        assert first["z_min_var"].plain != second["z_min_var"].plain


class TestIntervals:
    @pytest.mark.slow
    def test_every_score_has_an_interval_around_it_and_a_null(self):
        report = ub.evaluate(CODES, FACTORS, metrics=QUICK)
        for name, score in report.items():
            low, high = METRICS[name].bounds
            assert low <= score.low <= score.value <= score.high <= high, name
            assert score.null is not None, name
            assert report.interval_methods[name]

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["mig", "modularity", "sap", "mcc", "r2", "z1", "dci_linear.disentanglement"])
    def test_interval_is_about_as_wide_as_the_scatter_of_fresh_samples(self, name):
        """Forty fresh samples scatter with the deviation that one sample's interval claims."""
        values = [
            ub.evaluate(*noisy_world(s), metrics=[name], intervals=False, nulls=False)[name].value for s in range(40)
        ]
        claimed = []
        for seed in range(6):
            score = ub.evaluate(*noisy_world(seed), metrics=[name], nulls=False)[name]
            claimed.append((score.high - score.low) / 4)
        assert 0.6 < np.mean(claimed) / np.std(values) < 1.8

    def test_interval_narrows_with_more_rows(self):
        few, many = (ub.evaluate(*noisy_world(0, n), metrics=["mig"], nulls=False)["mig"] for n in (500, 8000))
        assert many.high - many.low < 0.5 * (few.high - few.low)

    def test_none_are_computed_when_not_wanted(self):
        score = ub.evaluate(CODES, FACTORS, metrics=["mig"], intervals=False, nulls=False)["mig"]
        assert (score.low, score.high, score.null) == (None, None, None)


class TestNulls:
    @pytest.mark.slow
    def test_noise_hardly_ever_beats_chance_and_the_note_says_so(self):
        claims = 0
        for seed in range(10):
            noise = np.random.default_rng(seed).standard_normal((800, 4))
            report = ub.evaluate(noise, FACTORS, metrics=["modularity", "mig", "sap"], seed=seed)
            claims += sum(bool(score.beats_chance) for score in report.values())
            assert report["modularity"].null < 0.2
            for score in report.values():
                assert score.beats_chance or NoteKind.AT_CHANCE in {note.kind for note in score.notes}
        assert claims <= 3

    @pytest.mark.slow
    def test_signal_scores_above_its_null(self):
        report = ub.evaluate(CODES, FACTORS, metrics=QUICK)
        for name in ("mig", "sap", "z_min_var", "r2"):
            assert report[name].low > report[name].null, name
            assert report[name].beats_chance is True

    def test_every_score_at_chance_has_the_note_also_where_lower_is_better(self):
        noise = np.random.default_rng(0).standard_normal((800, 4))
        report = ub.evaluate(noise, FACTORS, metrics=["mig", "iwo", "orthogonality"], n_jobs=1)
        same = [n for n, score in report.items() if against_chance(ub.METRICS[n], score) is AgainstChance.SAME]
        noted = [n for n, score in report.items() if NoteKind.AT_CHANCE in {note.kind for note in score.notes}]
        assert "orthogonality" in same
        assert noted == same

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(4))
    def test_the_best_possible_beats_a_null_that_scatters_but_never_gets_there(self, seed):
        """Continuous factors that hang together: shuffled ones score well above 0 in z_diff, and never 1."""
        drawn = np.random.default_rng(1).standard_normal((2000, 3))
        drawn[:, 1] = 0.8 * drawn[:, 0] + 0.6 * drawn[:, 1]
        score = ub.evaluate(drawn, drawn, metrics=["z_diff"], seed=seed, n_jobs=1)["z_diff"]
        assert score.value == pytest.approx(1.0, abs=0.01)
        assert score.null > 0.1
        assert score.beats_chance

    def test_of_few_shuffles_being_beyond_all_is_not_enough(self):
        nulls = np.array([0.1, 0.9, 0.5])
        assert not beyond(0.95, nulls, 0.45)
        many = np.tile(nulls, 7)
        assert beyond(0.95, many, 0.45)
        assert not beyond(0.85, many, 0.35)

    def test_null_of_label_free_metrics_shuffles_the_codes(self):
        copied = np.column_stack([CODES[:, 0], CODES[:, 0] + 0.1 * CODES[:, 3]])
        score = ub.evaluate(copied, metrics=["code_mutual_information"])["code_mutual_information"]
        assert score.null < 0.3 * score.value


class TestFailures:
    def test_one_failing_metric_leaves_a_reason_and_the_others_intact(self):
        report = ub.evaluate(CODES, FACTORS[:, :1], metrics=["mig", "z_diff"])
        assert list(report) == ["mig"]
        assert report.failures == {"z_diff": "factors must have at least two columns for z_diff, got 1."}
        with pytest.raises(KeyError, match="could not be scored"):
            report["z_diff"]
        assert "failed: factors must have" in report.table().loc["z_diff", "note"]

    def test_a_probe_short_of_rows_fails_alone(self):
        factors = np.where(np.arange(40) < 8, FACTORS[:40, 0] % 2, np.nan)
        report = ub.evaluate(CODES[:40], factors, metrics=["mig", "r2"])
        assert "mig" in report
        assert "needs at least 10" in report.failures["r2"]

    def test_an_error_inside_a_metric_is_kept_with_its_type(self, monkeypatch):
        def broken(evidence):
            raise ZeroDivisionError("by nought")

        monkeypatch.setitem(METRICS, "sap", _with_score(METRICS["sap"], broken))
        report = ub.evaluate(CODES, FACTORS, metrics=["sap", "mig"])
        assert report.failures == {"sap": "ZeroDivisionError: by nought"}
        assert "mig" in report

    def test_a_metric_that_fails_costs_those_that_share_its_evidence_nothing(self):
        one_alive = np.column_stack([CODES[:, 0], np.zeros(800), np.ones(800)])
        report = ub.evaluate(one_alive, FACTORS, metrics=["mig", "infomec.compactness"])
        assert "at least two columns that vary" in report.failures["infomec.compactness"]
        assert report["mig"].low < report["mig"].value
        assert report["mig"].null is not None

    def test_halves_too_small_for_an_interval_say_so(self):
        report = ub.evaluate(CODES[:14], FACTORS[:14] % 2, metrics=["r2"])
        assert report["r2"].low is None
        assert NoteKind.NO_INTERVAL in {note.kind for note in report["r2"].notes}

    def test_a_replicate_that_fails_is_noted_with_its_own_reason_whatever_the_threads_do(self, monkeypatch):
        """Two metrics of the same evidence fail on every half of the rows, each with a reason of its own."""

        def failing(metric):
            def score(evidence):
                if len(evidence.codes) < len(CODES):
                    raise ValueError(f"{metric.name} fails at {evidence.codes[0, 0]}.")
                return metric.score(evidence)

            return _with_score(metric, score)

        names = ["z1", "z2"]
        for name in names:
            monkeypatch.setitem(METRICS, name, failing(METRICS[name]))
        told = []
        for n_jobs in (1, 3):
            report = ub.evaluate(CODES, FACTORS, metrics=names, n_jobs=n_jobs, nulls=False)
            told.append(
                [note for score in report.values() for note in score.notes if note.kind is NoteKind.NO_INTERVAL]
            )
        assert told[0] == told[1]
        assert [note.split()[2] for note in told[0]] == names


class TestNotes:
    def test_dead_codes_missing_labels_and_rare_values_are_told(self):
        codes = np.column_stack([CODES, np.ones(800)])
        factors = FACTORS.astype(float)
        factors[:100, 1] = np.nan
        factors[0, 2] = 99
        notes = " ".join(ub.evaluate(codes, factors, metrics=["mig"]).notes)
        assert "1 of 5 codes are constant and encode nothing: code_4." in notes
        assert (
            "Not labelled everywhere, so scored on the rows that are: factor_1 (100 of 800 rows without a label)."
            in notes
        )
        assert "Fewer than 10 rows for some value" in notes

    def test_kinds_are_told_so_that_a_wrong_guess_is_seen(self):
        rep = Representation(CODES, FACTORS, names=["a", "b", "c"], kinds={"c": "circular"})
        notes = " ".join(ub.evaluate(rep, metrics=["mig"]).notes)
        assert "a ordinal, b ordinal and c circular" in notes


def test_list_metrics_tells_what_each_measures_and_needs():
    table = ub.list_metrics()
    assert list(table.index) == list(METRICS)
    assert table.loc["mig", "measures"] == "compactness, explicitness"
    assert table.loc["total_correlation", "needs"] == "codes"


def _with_score(metric, score):
    from dataclasses import replace

    return replace(metric, score=score)
