import json

import pytest

from unbraid.reproduce import DCI_ES_TABLE1, REPRODUCTIONS, dci_es_table1

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table():
    return dci_es_table1(codes=["labels", "noisy", "mix"], n_samples=[1500], n_seeds=1, widths=(2, 8), n_trees=20)


def row(table, codes, probes):
    return next(result for result in table.results if (result.row.codes, result.row.probes) == (codes, probes))


def test_rows_are_those_that_need_no_images():
    assert [(r.codes, r.probes) for r in DCI_ES_TABLE1] == [
        (codes, probes) for codes in ("labels", "noisy", "mix") for probes in ("mlp", "forest")
    ]
    assert REPRODUCTIONS["dci-es-table1"].run is dci_es_table1


def test_networks_get_the_labels_perfectly(table):
    labels = row(table, "labels", "mlp")
    for score, truth in labels.row.oracle.items():
        assert labels.mean(score) == pytest.approx(truth, abs=0.02), score


def test_noisy_labels_agree_with_the_paper(table):
    for probes in ("mlp", "forest"):
        noisy = row(table, "noisy", probes)
        for score in ("informativeness", "explicitness", "size"):
            assert noisy.mean(score) == pytest.approx(noisy.row.published[score], abs=0.03), (probes, score)
    assert row(table, "noisy", "mlp").mean("disentanglement") == pytest.approx(0.97, abs=0.03)


def test_a_linear_mix_is_explicit_to_networks_and_not_to_forests(table):
    networks, forests = row(table, "mix", "mlp"), row(table, "mix", "forest")
    assert networks.mean("explicitness") == pytest.approx(1.0, abs=0.01)
    assert networks.mean("informativeness") == pytest.approx(1.0, abs=0.01)
    assert networks.mean("disentanglement") < 0.4
    assert forests.mean("explicitness") < 0.97
    assert forests.mean("informativeness") < 0.9


def test_json_holds_ours_the_papers_and_the_oracles(table, tmp_path):
    data = json.loads(table.to_json(tmp_path / "table.json"))
    assert json.loads((tmp_path / "table.json").read_text()) == data
    noisy = next(r for r in data["rows"] if r["representation"] == "noisy labels" and r["probes"] == "forest")
    assert noisy["scores"]["disentanglement"]["paper"] == 0.75
    assert noisy["scores"]["informativeness"]["oracle"] == pytest.approx(0.895, abs=0.001)
    assert noisy["n_samples"] == 1500


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codes": ["labls"]}, "did you mean 'labels'"),
        ({"probes": ["mpl"]}, "did you mean 'mlp'"),
        ({"codes": []}, "at least one, got none"),
        ({"n_seeds": 0}, "n_seeds must be at least 1"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        dci_es_table1(**arguments)
