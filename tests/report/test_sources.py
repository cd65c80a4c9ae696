import numpy as np
import pytest

import unbraid as ub
from unbraid import METRICS, Score
from unbraid.report.scores import call, interval_methods, references

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 4, (300, 3))
CODES = FACTORS + 0.5 * RNG.standard_normal((300, 3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {"metrics": ["mig", "sap"], "seed": 3, "name": 'it\'s "mine"'},
        {"metrics": ["mig"], "n_bins": 7, "binning": "quantile", "intervals": False},
        {"metrics": "dci_forest", "options": {"dci_forest": {"n_trees": 5}}, "nulls": False},
        {"metrics": ["z_min_var", "mig", "irs"], "options": {"z_min_var": {"n_votes": 50, "n_bins": 5}}},
        {"metrics": ["mig", "jemmig", "infomec"], "options": {"mig": {"n_bins": 5, "normalise_by": "code"}}},
        {"metrics": "dci_es", "options": {"dci_es": {"ladder": "linear"}}},
        {"metrics": ["infomec", "sap"], "options": {"infomec.explicitness": {"evaluate_on": "fitted"}}},
    ],
)
def test_the_call_gives_the_same_numbers_again(arguments, monkeypatch, tmp_path):
    rep = ub.Representation(CODES, FACTORS)
    report = ub.evaluate(rep, progress=False, n_jobs=1, **arguments)
    monkeypatch.setattr(ub, "load", lambda path: rep)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, ub.Report] = {}
    exec(call(report), scope)
    assert scope["report"].table().equals(report.table())
    assert scope["report"].setup.name == report.setup.name


@pytest.mark.slow
def test_the_call_makes_the_example_and_reads_files_by_their_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    ub.save(ub.Representation(CODES, FACTORS), "mine.npz")
    for rep, how in ((ub.data.example(300), "ub.data.example("), (ub.load("mine.npz"), 'ub.load("mine.npz")')):
        report = ub.evaluate(rep, metrics=["mig"], progress=False, n_jobs=1)
        assert f"rep = {how}" in call(report)
        scope: dict[str, ub.Report] = {}
        exec(call(report), scope)
        assert scope["report"].table().equals(report.table())


def test_default_metrics_are_called_default(make_report):
    names = [name for name, metric in METRICS.items() if metric.min_factors <= 2 and metric.in_default]
    assert 'metrics="default"' in call(make_report({name: Score(value=0.5) for name in names}))


def test_references_link_to_the_papers(make_report):
    found = references(make_report({"mig": Score(value=0.5)}, failures={"dci_linear.completeness": "because"}))
    assert [reference.address for reference in found] == [
        "https://arxiv.org/abs/1802.04942",
        "https://openreview.net/forum?id=By-7dz-AZ",
    ]
    assert found[0].titles == (METRICS["mig"].title,)


def test_interval_methods_are_listed_once(make_report):
    methods = {"mig": "bootstrap", "sap": "halves", "mig_sup": "bootstrap"}
    found = interval_methods(make_report(interval_methods=methods))
    assert found == [("bootstrap", ("Mutual information gap", "MIG-sup")), ("halves", (METRICS["sap"].title,))]
