"""What is said of a name that is no metric, or no score of a report."""

import inspect

import numpy as np
import pytest

import unbraid as ub
from unbraid._base.checks import did_you_mean
from unbraid.metrics import METRICS
from unbraid.metrics.information.infomec import InfoMEC
from unbraid.metrics.prediction.dci import DCI
from unbraid.metrics.prediction.dci_es import DCIES
from unbraid.metrics.prediction.dependent import Dependent
from unbraid.metrics.table.catalogue import BESIDE_THE_PANEL
from unbraid.metrics.table.listing import meant, unknown_metric
from unbraid.panel.plan import resolve_metrics
from unbraid.results.score import Score


@pytest.mark.parametrize(
    ("name", "suggested"),
    {
        "MIG": "; did you mean 'mig';",
        "Z-Diff": "; did you mean 'z_diff';",
        "sap score": "; did you mean 'sap';",
        "beta_vae": "; did you mean 'z_diff';",
        "beta-VAE metric": "; did you mean 'z_diff';",
        "factor_vae": "; did you mean 'z_min_var';",
        "mutual_information_gap": "; did you mean 'mig';",
        "InfoE": "; did you mean 'infomec.explicitness';",
        "migg": "; did you mean 'mig';",
        "MIGG": "; did you mean 'mig';",
        "dci": "; did you mean one of 'dci_linear', 'dci_forest', 'dci_boosting', 'dci_es';",
        "minimality": "; did you mean 'dependent.minimality';",
        "modularity_explicitness": "; did you mean one of 'modularity', 'explicitness';",
        "nonsense": "Unknown metric 'nonsense'; see",
        "": "Unknown metric ''; see",
    }.items(),
)
def test_what_was_meant_is_suggested_and_not_taken(name, suggested):
    with pytest.raises(ValueError, match=r"^Unknown metric ") as refused:
        resolve_metrics([name])
    assert suggested in str(refused.value)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_metric_answers_to_its_name_and_title_however_they_are_spelled(metric):
    assert metric.name in meant(metric.name.upper().replace("_", "-"))
    assert metric.name in meant(metric.title)


@pytest.mark.parametrize("name", BESIDE_THE_PANEL)
def test_a_function_beside_the_panel_says_what_it_needs_and_where_it_is(name):
    beside = BESIDE_THE_PANEL[name]
    assert name not in METRICS
    assert callable(getattr(ub.metrics, name))
    assert beside.call.startswith(f"unbraid.metrics.{name}(")
    assert beside.needs in unknown_metric(name.upper())
    assert beside.call in unknown_metric(name)


def test_every_public_function_is_in_the_table_or_beside_it_or_a_part_of_one():
    parts = {"disentanglement", "completeness", "informativeness", "information_minimality", "information_sufficiency"}
    curves = {"area_under_curve", "explicitness_of_curve"}
    public = {name for name in ub.metrics.__all__ if inspect.isfunction(getattr(ub.metrics, name))}
    assert public - {metric.function.__name__ for metric in METRICS.values()} == set(BESIDE_THE_PANEL) | parts | curves


@pytest.fixture(scope="module")
def report():
    factors = np.random.default_rng(0).integers(0, 4, (200, 2))
    return ub.evaluate(factors + 0.0, factors, metrics="mig,dci_linear", intervals=False, nulls=False, n_jobs=1)


class TestScoresOfAReport:
    def test_a_family_names_its_scores(self, report):
        members = [f"'dci_linear.{part}'" for part in ("disentanglement", "completeness", "informativeness")]
        with pytest.raises(KeyError, match=f"'dci_linear' is a family of scores; take one of {', '.join(members)}."):
            report["dci_linear"]

    @pytest.mark.parametrize(
        ("name", "sentence"),
        {
            "MIG": "no score 'MIG'; did you mean 'mig'; it has mig, dci_linear.disentanglement",
            "sap": "no score 'sap'",
            "dci_forest": "no score 'dci_forest'",
            "nonsense": "no score 'nonsense'; it has mig",
        }.items(),
    )
    def test_what_is_not_there_is_a_sentence(self, report, name, sentence):
        with pytest.raises(KeyError) as missing:
            report[name]
        assert sentence in missing.value.args[0]
        assert name not in report
        assert report.get(name) is None

    def test_a_family_that_failed_names_what_says_why(self):
        factors = np.random.default_rng(0).integers(0, 4, (200, 1))
        codes = np.random.default_rng(1).normal(size=(200, 2))
        report = ub.evaluate(codes, factors, metrics="dci_linear.disentanglement,mig", intervals=False, n_jobs=1)
        with pytest.raises(KeyError, match=r"take one of 'dci_linear\.disentanglement'"):
            report["dci_linear"]
        with pytest.raises(KeyError, match="could not be scored"):
            report["dci_linear.disentanglement"]


def test_capital_letters_do_not_hide_what_is_near():
    assert did_you_mean("SIZE", ["Size", "shape"]) == "; did you mean 'Size'"
    assert did_you_mean("nothing", ["Size", "shape"]) == ""


@pytest.mark.parametrize(
    ("family", "scores"),
    [
        (DCI, "disentanglement, completeness, informativeness"),
        (DCIES, "disentanglement, completeness, informativeness, explicitness, size"),
        (InfoMEC, "modularity, compactness, explicitness"),
        (Dependent, "modularity, compactness, explicitness, minimality, sufficiency"),
    ],
)
def test_a_family_is_not_one_number_and_says_which_it_has(family, scores):
    several = family(*[Score(value=1.0)] * len(family._fields))
    with pytest.raises(TypeError, match=rf"^{family.__name__} has {len(several)} scores, .* as in \.\w+: {scores}\.$"):
        float(several)
