"""Every printed number in the code is the one in the paper's text."""

import json
from pathlib import Path
from typing import Any

import pytest

from unbraid.reproduce import DCI_ES_TABLE1, PUBLISHED_NUMBERS, VaeSettings
from unbraid.reproduce.coloured_vae import CONVOLUTIONS, MILESTONES
from unbraid.reproduce.cosine import LINES, TABLES
from unbraid.reproduce.dci_es import SCORES
from unbraid.reproduce.explicitness import images

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "published.json").read_text(encoding="utf-8"))


def test_rows_of_dci_es_that_need_no_images():
    printed = PUBLISHED["dci-es, Table 1"]["rows"]
    ours = {f"{row.codes}, {row.probes}": [row.published[s] for s in SCORES] for row in DCI_ES_TABLE1 if row.published}
    assert ours == {name: values for name, values in printed.items() if name in ours}
    assert len(ours) == 4


def test_rows_of_dci_es_that_need_images():
    printed = PUBLISHED["dci-es, Table 1"]["rows"]
    names = {"vae": "VAE", "beta_vae": "beta-VAE", "pretrained": "ImageNet-pretrained", "pixels": "raw data"}
    ours = {f"{names[codes]}, {probes}": list(values) for (codes, probes), values in images.PUBLISHED.items()}
    labels = ("labels", "noisy", "mix")
    assert ours == {name: values for name, values in printed.items() if not name.startswith(labels)}


def test_oracle_of_dci_es():
    printed = PUBLISHED["dci-es, Table 1"]["rows"]
    for row in DCI_ES_TABLE1:
        ours = [round(row.oracle[score], 1) for score in SCORES]
        assert ours == printed[f"{row.codes}, MLP*"]


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_cosines(table):
    printed = PUBLISHED[f"dependent, Table {table}"]
    lines = [line for line in LINES if line.table == table]
    assert {line.label: list(line.published) for line in lines} == printed["rows"]
    assert all(list(line.scenarios) == printed["columns"] for line in lines)


@pytest.mark.parametrize("table", ["Table 6", "Table 7", "Table 8"])
def test_tables_of_coloured_digits_each_number_once(table):
    rows = [row for row in PUBLISHED_NUMBERS if row.where == table]
    assert {row.label: row.published for row in rows} == PUBLISHED[f"dependent, {table}"]
    assert len(rows) == len(PUBLISHED[f"dependent, {table}"])


def test_errors_and_accuracies_of_coloured_digits():
    ours = {row.name: row.published for row in PUBLISHED_NUMBERS if row.where == "Sec. 6"}
    assert ours == PUBLISHED["dependent, sec. 6"]


def test_network_of_coloured_digits_is_that_of_appendix_d():
    printed, ours = PUBLISHED["dependent, app. D"], VaeSettings()
    assert [list(one) for one in CONVOLUTIONS] == printed["convolutions"]
    assert [share * ours.n_epochs for share in MILESTONES] == printed["divided by 10 at epochs"]
    assert (ours.beta, ours.n_epochs, ours.batch_size) == (printed["beta"], printed["epochs"], printed["batch size"])
    assert (ours.learning_rate, ours.n_codes) == (printed["learning rate"], printed["codes"])
