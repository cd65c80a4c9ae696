"""The cosine scenarios with the default settings: what must hold whatever the paper printed."""

import functools
import json

import numpy as np
import pytest

from helpers.small import run_cli
from unbraid.data import cosine_dependence
from unbraid.metrics import Dependent, dci_linear, dependent
from unbraid.reproduce import CosineTables, dependent_cosine
from unbraid.reproduce.cosine import cosine_checks

pytestmark = pytest.mark.slow


@functools.cache
def scored(scenario: str) -> Dependent:
    return dependent(cosine_dependence(scenario, n_samples=1000))


class TestScenarios:
    def test_codes_are_what_table_1_says(self):
        rep = cosine_dependence("Cos2D", n_samples=50, seed=3)
        y1, y2, y3 = (factor.numbers for factor in rep.factors)
        np.testing.assert_allclose(y3, (y1 + y2) / 2)
        np.testing.assert_allclose(rep.codes[:, 2], np.cos((3 * y1 + y2) / 4))
        mixed = cosine_dependence("Cos3I", n_samples=50, seed=3)
        a, _, c = (factor.numbers for factor in mixed.factors)
        np.testing.assert_allclose(mixed.codes[:, 1], np.cos((a + c) / 2))
        assert cosine_dependence("Cos0", n_samples=50).n_codes == 3

    def test_third_code_of_the_last_nuisance_scenario_is_half_nuisance(self):
        first, second = (cosine_dependence(s, n_samples=50, seed=1) for s in ("CosNuis2I", "CosNuis3I"))
        _, y2, y3 = (factor.numbers for factor in first.factors)
        nuisance = 2 * np.arccos(first.codes[:, 2]) - y3
        assert nuisance.min() >= 0
        assert nuisance.max() <= np.pi
        np.testing.assert_allclose(np.arccos(second.codes[:, 2]), (y2 + y3 + 2 * nuisance) / 4)

    def test_bad_arguments_are_named(self):
        with pytest.raises(ValueError, match=r"scenario must be one of Cos0, .*, got 'Cos4I'"):
            cosine_dependence("Cos4I")
        with pytest.raises(ValueError, match="n_samples must be at least 4, got 3"):
            cosine_dependence("Cos0", n_samples=3)


class TestDefaults:
    @pytest.mark.parametrize("name", Dependent._fields)
    def test_dependence_alone_changes_nothing(self, name):
        first, second = (getattr(scored(scenario), name).value for scenario in ("Cos1I", "Cos1D"))
        assert second == pytest.approx(first, abs=0.01)
        assert first > 0.97

    def test_compactness_falls_as_factors_lose_their_codes(self):
        first, second, third = (scored(scenario).compactness.value for scenario in ("Cos1D", "Cos2D", "Cos3D"))
        assert first > second + 0.02 > third + 0.04

    def test_a_nuisance_code_is_not_minimal(self):
        for scenario in ("Cos1I", "Cos1D", "Cos2D", "Cos3D"):
            assert scored(scenario).minimality.per_code[3] == pytest.approx(0, abs=0.05)

    def test_a_code_of_two_dependent_factors_is_not_modular(self):
        per_code = scored("Cos3D").modularity.per_code
        assert per_code[0] > 0.97  # the mean of y1 and y2 is y3, a factor
        assert per_code[1:3].max() < 0.8


class TestTables:
    def test_lines_carry_ours_and_the_papers(self):
        found = dependent_cosine([4], n_samples=200, n_compared=200, n_seeds=2, n_own_seeds=1)
        assert [line.label for line in found.lines] == [
            "Explicitness Score",
            "Informativeness",
            "Ind. Explicitness",
        ]
        own = found.lines[-1]
        assert own.numbers["Cos2I"].paper == 0.6626
        assert own.numbers["Cos2I"].ours == pytest.approx(2 / 3, abs=0.1)  # two of three factors are there
        assert own.worst == pytest.approx(max(abs(one.ours - one.paper) for one in own.numbers.values()))
        assert [name for name, one in own.numbers.items() if one.truth == 1] == ["Cos0", "Cos1I", "Cos1D"]
        assert not any(one.truth for line in found.lines[:-1] for one in line.numbers.values())
        assert found.options.scaling == "range"
        assert [len(line.numbers["Cos0"].seeds) for line in found.lines] == [2, 2, 1]
        assert CosineTables.from_json(found.to_json()) == found

    def test_command_prints_both_and_the_settings_and_writes_json(self, capsys, tmp_path):
        path = tmp_path / "cosine.json"
        code, out, err = run_cli(
            capsys, "reproduce", "dependent-cosine", "--tables", "11", "--samples", 100, "--json", path
        )
        note, wrote = err, err.splitlines()[-1]
        assert (code, wrote) == (0, f"wrote {path}")
        assert out.startswith("Table 11")
        assert "(0.9947)" in out
        assert "scaling=range" in note
        lines = json.loads(path.read_text())["lines"]
        assert [line["code"] for line in lines] == [0, 1, 2, 3]
        assert len(lines[0]["numbers"]) == 6

    def test_noise_is_held_against_words_and_its_known_minimality(self):
        found = dependent_cosine([10, 11], n_samples=300)
        modularity, minimality = cosine_checks(found)
        in_words = [check.what for check in modularity.checks if check.claim]
        assert len(in_words) == 6 + 2 + 3  # z4 everywhere, z3 beside z4 twice, and the order of CosNuis3I
        assert len(modularity.checks) == 24 - 9 + 11
        noise = [check for check in minimality.checks if check.what.startswith("z4")]
        assert [check.truth for check in noise] == [0.0] * 6
        assert {check.agreement for check in noise} <= {"agrees", "nearer the truth"}

    def test_disentanglement_of_cos3d_is_0_with_the_defect_of_the_library(self):
        rep = cosine_dependence("Cos3D", n_samples=1000)
        found = dci_linear(rep, strength="published", columns="raw").disentanglement
        assert found.evidence["importance"][0].tolist() == [0, 0, 0]  # its loop over codes ends here
        assert found.value == pytest.approx(0.137, abs=0.01)  # without the defect

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--tables", "5"], "tables must be one of 2, 3, 4, 10, 11, got '5'"),
            (["--tables", "two"], "tables must be numbers and ranges such as 1,3-5, got 'two'"),
            (["--samples", "10"], "n_samples must be at least 100, got 10"),
        ],
    )
    def test_bad_arguments_exit_with_2(self, capsys, arguments, sentence):
        code, out, err = run_cli(capsys, "reproduce", "dependent-cosine", *arguments)
        assert (code, out) == (2, "")
        assert sentence in err
