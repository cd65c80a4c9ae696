import json

import pytest

from unbraid.reproduce import DCI_ES_TABLE1, REPRODUCTIONS, ESTable, dci_es_table1
from unbraid.reproduce.dci_es import closed_form, dci_es_checks, matrix_spread

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table():
    return dci_es_table1(
        codes=["labels", "noisy", "mix"], n_samples=[1500], n_forest=[1500], n_seeds=1, widths=(2, 8), n_trees=20
    )


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


def test_curves_are_kept_and_can_be_drawn(table, tmp_path):
    kept = ESTable.from_json(table.to_json())
    assert [len(row.curve.losses) for row in kept.rows] == [1] * 6
    assert all(len(row.curve.capacities) == len(row.curve.mean) for row in kept.rows)
    html = kept.draw(tmp_path / "curves.html").read_text()
    assert "noisy labels" in html
    assert "forests" in html


def test_a_mix_has_the_scores_of_its_matrix(table):
    mix = scores(table, "mix", "mlp")
    assert mix["disentanglement"].truth == closed_form(0)["disentanglement"] == pytest.approx(0.170, abs=0.001)
    assert mix["completeness"].truth == pytest.approx(0.269, abs=0.001)
    assert scores(table, "mix", "forest")["disentanglement"].truth is None
    for score in ("disentanglement", "completeness"):
        assert mix[score].ours == pytest.approx(mix[score].truth, abs=0.08)  # SAGE of 1500 rows
    assert 0.05 < matrix_spread()["disentanglement"] < 0.08


def test_labels_of_a_forest_are_not_compared(table):
    parts = {part.where: part for part in dci_es_checks(table)}
    assert not [check for check in parts["Table 1, forests"].checks if check.what.startswith("GT labels")]
    assert len(parts["Table 1, networks"].checks) == 15
    assert [check.paper for check in parts["Uniform mix in closed form"].checks] == [None, None]


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
