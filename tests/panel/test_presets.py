"""Panels by name, and the place of a score between chance and the best attainable."""

import numpy as np
import pytest

import unbraid as ub
from unbraid.interpret.chance import standing
from unbraid.metrics import METRICS, Preset
from unbraid.metrics.table.catalogue import attainable
from unbraid.metrics.table.listing import panels
from unbraid.panel.plan import resolve_metrics
from unbraid.results.note import NoteKind, as_note
from unbraid.results.score import Score

#: Scores that a reader of each kind looks for first.
SOUGHT = {
    Preset.VAE: {"mig", "dci_boosting.disentanglement", "sap", "z_min_var", "z_max_var"},
    Preset.IDENTIFIABILITY: {"mcc", "r2", "dependent.modularity"},
    Preset.EMBEDDINGS: {"rankme", "alpha_req", "effective_rank", "participation_ratio", "sparse_probe"},
    Preset.SPARSE: {"best_single", "sparse_probe", "one_vs_rest"},
    Preset.SINGLE_CELL: {"one_vs_rest", "best_single"},
}


@pytest.mark.parametrize("preset", Preset)
def test_a_panel_has_the_scores_that_its_readers_look_for(preset):
    names = {metric.name for metric in resolve_metrics(preset)}
    assert SOUGHT[preset] <= names
    assert names < set(METRICS)
    assert preset.purpose
    assert set(panels()[preset][1]) == {METRICS[name].family for name in names}


def test_panels_and_names_can_be_combined():
    both = {metric.name for metric in resolve_metrics("sparse,mcc")}
    assert both == {metric.name for metric in resolve_metrics("sparse")} | {"mcc"}


def test_no_score_of_this_kind_slows_the_default_panel():
    default = {metric.name for metric in resolve_metrics("default")}
    assert not default & {"rankme", "alpha_req", "best_single", "sparse_probe", "one_vs_rest", "med", "z_max_var"}


def test_a_panel_leaves_out_what_the_input_cannot_support_and_a_name_fails():
    codes = np.random.default_rng(0).normal(size=(200, 4))
    report = ub.evaluate(codes, metrics="embeddings", nulls=False, intervals=False, n_jobs=1, progress=False)
    assert "rankme" in report
    assert not report.failures
    assert any(as_note(note).kind is NoteKind.LEFT_OUT and "sparse_probe" in note for note in report.notes)
    named = ub.evaluate(codes, metrics="rankme,sparse_probe", nulls=False, intervals=False, n_jobs=1, progress=False)
    assert list(named.failures) == ["sparse_probe"]


@pytest.mark.parametrize(
    ("value", "null", "best", "expected"),
    [(0.75, 0.5, 1.0, 0.5), (0.5, 0.5, 1.0, 0.0), (0.4, 0.5, 1.0, 0.0), (0.8, 0.5, 0.8, 1.0), (0.7, None, 1.0, None)],
)
def test_standing_runs_from_chance_to_the_best_attainable(value, null, best, expected):
    found = standing(METRICS["mig"], Score(value=value, null=null), best)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.fixture(scope="module")
def report():
    factors = np.random.default_rng(0).integers(0, 40, (2000, 2))
    names = "mig,explicitness,total_correlation,r2"
    return ub.evaluate(factors + 0.0, factors, metrics=names, intervals=False, n_jobs=1, progress=False)


def test_perfect_codes_stand_at_one_though_a_ceiling_keeps_their_score_below(report):
    assert report["mig"].value < 0.9
    assert report["mig"].standing > 0.95
    assert attainable("mig", report["mig"].value, report.setup) == pytest.approx(np.log(20) / np.log(40))
    assert report["explicitness"].standing > 0.95
    assert report["total_correlation"].standing is None


def test_standing_is_in_table_json_page_and_file(report, tmp_path):
    assert report.table().loc["r2", "standing"] == report["r2"].standing
    assert report.to_dict()["scores"]["mig"]["standing"] == report["mig"].standing
    report.to_json(tmp_path / "report.json")
    [again] = ub.read_reports(tmp_path / "report.json").values()
    assert again["mig"].standing == report["mig"].standing
    page = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'data-label="Standing"' in page
