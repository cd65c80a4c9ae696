import json

import pytest

from unbraid.reproduce import DCI_ES_TABLE1, REPRODUCTIONS, ESTable, dci_es_table1

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table():
    return dci_es_table1(codes=["labels", "noisy", "mix"], n_samples=[1500], n_seeds=1, widths=(2, 8), n_trees=20)


def scores(table, codes, probes):
    return next(row.scores for row in table.rows if (row.codes, row.probes) == (codes, probes))


def test_rows_are_those_that_need_no_images():
    assert [(r.codes, r.probes) for r in DCI_ES_TABLE1] == [
        (codes, probes) for codes in ("labels", "noisy", "mix") for probes in ("mlp", "forest")
    ]
    assert REPRODUCTIONS["dci-es-table1"].run is dci_es_table1


def test_networks_get_the_labels_perfectly(table):
    for score, number in scores(table, "labels", "mlp").items():
        assert number.ours == pytest.approx(number.truth, abs=0.02), score


def test_noisy_labels_agree_with_the_paper(table):
    for probes in ("mlp", "forest"):
        noisy = scores(table, "noisy", probes)
        for score in ("informativeness", "explicitness", "size"):
            assert noisy[score].ours == pytest.approx(noisy[score].paper, abs=0.03), (probes, score)
    assert scores(table, "noisy", "mlp")["disentanglement"].ours == pytest.approx(0.97, abs=0.03)


def test_a_linear_mix_is_explicit_to_networks_and_not_to_forests(table):
    networks, forests = scores(table, "mix", "mlp"), scores(table, "mix", "forest")
    assert networks["explicitness"].ours == pytest.approx(1.0, abs=0.01)
    assert networks["informativeness"].ours == pytest.approx(1.0, abs=0.01)
    assert networks["disentanglement"].ours < 0.4
    assert forests["explicitness"].ours < 0.97
    assert forests["informativeness"].ours < 0.9


def test_json_holds_ours_the_papers_and_the_oracles(table, tmp_path):
    data = json.loads(table.to_json(tmp_path / "table.json"))
    assert ESTable.from_json((tmp_path / "table.json").read_text()) == table
    noisy = next(r for r in data["rows"] if (r["codes"], r["probes"]) == ("noisy", "forest"))
    assert noisy["scores"]["disentanglement"]["paper"] == 0.75
    assert noisy["scores"]["informativeness"]["truth"] == pytest.approx(0.895, abs=0.001)
    assert noisy["n_samples"] == 1500


def test_curves_of_the_first_seed_can_be_drawn(table, tmp_path):
    html = table.draw(tmp_path / "curves.html").read_text()
    assert "noisy labels, forest" in html


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
