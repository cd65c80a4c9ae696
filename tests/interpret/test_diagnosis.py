from dataclasses import replace

import numpy as np
import pytest

import unbraid as ub
from unbraid.interpret.diagnosis import diagnose
from unbraid.interpret.structure import ProbeEvidence, fewest, find_structure, main_codes, most_by_chance
from unbraid.panel.saved import read_reports
from unbraid.probes.importance import Importance

pytestmark = pytest.mark.slow

METRICS = ["mig", "sap", "dci_linear", "dci_forest", "iwo"]


def turn(degrees):
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def world(n_rows=700, n_factors=3, *, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(-1, 1, (n_rows, n_factors))


def judge(codes, factors, *, noise=0.03, metrics=METRICS, seed=0, **more):
    """Return the report on codes with a little noise."""
    codes = codes + noise * np.random.default_rng(seed + 1).standard_normal(codes.shape)
    rep = ub.Representation(codes, factors, **more)
    few_trees = {"dci_forest": {"n_trees": 10}} if "dci_forest" in metrics else {}
    return ub.evaluate(rep, metrics=metrics, options=few_trees, n_jobs=1, progress=False)


def found(report):
    """Return kind, factors and codes of each finding, names cut down to their numbers."""
    return [
        (str(item.kind), "".join(n[-1] for n in item.factors), "".join(n[-1] for n in item.codes))
        for item in report.findings
    ]


def test_aligned_codes_are_each_factors_own():
    _, factors = world()
    report = judge(factors, factors)
    assert found(report) == [("own code", "012", "012")]
    assert report.findings[0].sentence == (
        "Each factor has a code to itself: “factor_0” in “code_0”, “factor_1” in “code_1” and “factor_2” in “code_2”."
    )


@pytest.mark.parametrize("degrees", [15, 45])
def test_two_factors_rotated(degrees):
    _, factors = world()
    codes = factors.copy()
    codes[:, :2] = factors[:, :2] @ turn(degrees)
    report = judge(codes, factors)
    assert found(report) == [("own code", "2", "2"), ("rotated", "01", "01")]
    assert report.findings[0].sentence == "One factor has a code to itself: “factor_2” in “code_2”."
    assert report.findings[1].sentence == (
        "“factor_0” and “factor_1” are rotated into 2 codes, “code_0” and “code_1”: together the codes encode exactly "
        "these factors, in orthogonal directions, but no single code encodes one factor only."
    )


def test_a_slight_turn_is_let_pass():
    _, factors = world()
    codes = factors.copy()
    codes[:, :2] = factors[:, :2] @ turn(4)
    assert found(judge(codes, factors)) == [("own code", "012", "012")]


@pytest.mark.parametrize(("n_factors", "seed"), [(2, 0), (2, 1), (2, 2), (3, 3), (5, 4)])
def test_any_rotation_of_all_factors(n_factors, seed):
    rng, factors = world(600, n_factors, seed=10 * seed)
    turned = factors @ np.linalg.qr(rng.normal(size=(n_factors, n_factors)))[0]
    names = "".join(map(str, range(n_factors)))
    report = judge(turned, factors)
    largest = np.abs(report.evidence_of(Importance)[0].data.matrix).max()
    kinds = [(kind, about, "".join(sorted(codes))) for kind, about, codes in found(report)]
    assert kinds == [("rotated" if largest < 0.9 else "own code", names, names)]


def test_a_skewed_mixture_is_no_rotation():
    _, factors = world()
    mix = np.array([[1.0, 0.9, 0.0], [0.4, 1.0, 0.0], [0.0, 0.0, 1.0]])
    report = judge(factors @ mix.T, factors)
    assert found(report) == [("own code", "2", "2"), ("mixed", "01", "01")]
    assert "not orthogonal (importance-weighted orthogonality 0." in report.findings[1].sentence


def test_of_two_codes_only_the_one_that_mixes_is_said_to():
    _, factors = world(1000)
    codes = factors.copy()
    codes[:, 1] += 0.6 * factors[:, 0]
    report = judge(codes, factors)
    assert found(report) == [("own code", "2", "2"), ("mixed", "01", "1")]
    assert report.findings[1].sentence == "“code_0” encodes “factor_0” only; “code_1” mixes “factor_1” with “factor_0”."
    bent = np.column_stack([factors[:, 0], factors[:, 1] + factors[:, 0] ** 2])
    assert "“code_1” mixes “factor_1” with “factor_0”" in judge(bent, factors[:, :2]).findings[0].sentence


def test_few_rows_do_not_show_which_code_mixes():
    _, factors = world(150)
    codes = factors.copy()
    codes[:, 1] += 0.6 * factors[:, 0]
    (_, mixed) = judge(codes, factors).findings
    assert (
        mixed.sentence == "The probes that predict “factor_0” and “factor_1” share codes, among “code_0” and “code_1”."
    )


def test_a_clear_leak_in_few_rows_leaves_a_code_to_nobody():
    rng = np.random.default_rng(1403)
    factors = rng.normal(size=(150, 3))
    mix = np.array([[0.2, 0.6, -1.7], [0.6, -0.7, 0.8], [0.0, -1.0, -0.1]])
    codes = factors @ mix.T + 0.8 * rng.normal(size=(150, 3))
    report = judge(codes, factors, noise=0.0, metrics=["mig", "sap", "dci_linear"])
    assert ub.FindingKind.OWN not in {item.kind for item in report.findings}


def test_a_small_leak_is_told_and_is_not_called_a_mixture():
    _, factors = world(2000)
    codes = factors.copy()
    codes[:, 1] += 0.2 * factors[:, 0]
    report = judge(codes, factors)
    assert found(report) == [("own code", "012", "012")]
    assert report.findings[0].sentence.endswith(
        "; “code_1” also encodes a little of “factor_0” (0.03 of its variance)."
    )


def test_nothing_is_said_of_codes_shared_by_factors_that_depend_on_each_other():
    _, factors = world()
    factors[:, 1] = 0.9 * factors[:, 0] + 0.4 * factors[:, 1]
    codes = factors.copy()
    codes[:, :2] = factors[:, :2] @ turn(40)
    report = judge(codes, factors)
    assert report.dependence.dependent_pairs
    assert found(report) == [("own code", "2", "2")]


def test_codes_of_dependent_factors_are_neither_copies_nor_mixed():
    _, factors = world(500)
    factors[:, 1] = factors[:, 0] + 0.05 * factors[:, 1]
    assert found(judge(factors, factors, noise=0.01)) == [("own code", "2", "2")]


def test_an_angle_in_cosine_and_sine():
    _, factors = world()
    angle = np.pi * factors[:, 0]
    codes = np.column_stack([np.cos(angle), np.sin(angle), factors[:, 1:]])
    report = judge(codes, np.column_stack([angle, factors[:, 1:]]), kinds=["circular", "continuous", "continuous"])
    assert found(report) == [("own code", "12", "23"), ("circle", "0", "01")]


def test_copies_of_an_angle_are_not_cosine_and_sine():
    _, factors = world()
    angle = np.pi * factors[:, 0]
    codes = np.column_stack([angle, angle, factors[:, 1:]])
    report = judge(codes, np.column_stack([angle, factors[:, 1:]]), kinds=["circular", "continuous", "continuous"])
    assert "circle" not in [kind for kind, *_ in found(report)]


def test_an_angle_in_one_code_is_said_to_sit_there():
    rng, factors = world(600, 2)
    angle = 10.0 * rng.integers(36, size=600)
    report = judge(
        np.column_stack([angle / 100, factors[:, 1]]),
        np.column_stack([angle, factors[:, 1]]),
        kinds=["circular:360", "continuous"],
    )
    assert found(report) == [("own code", "1", "1"), ("curved", "0", "0")]
    assert report.findings[1].sentence.startswith("“factor_0”, an angle, is in one code, “code_0”: trees predict 0.9")
    assert "one code cannot follow a circle" in report.findings[1].sentence


def test_numbers_that_are_names_sit_in_one_code_along_no_line():
    rng, factors = world(600, 2)
    name = rng.integers(5, size=600)
    codes = np.column_stack([np.array([3, 0, 4, 1, 2])[name], factors[:, 1]])
    report = judge(codes, np.column_stack([name, factors[:, 1]]), kinds=["ordinal", "continuous"])
    assert found(report) == [("own code", "1", "1"), ("curved", "0", "0")]
    assert "is in one code, “code_0”, but not linearly" in report.findings[1].sentence
    assert "declare it categorical" in report.findings[1].sentence


def test_a_category_spread_over_indicators():
    rng, factors = world()
    shape = rng.integers(3, size=len(factors))
    report = judge(
        np.column_stack([np.eye(3)[shape], factors]),
        np.column_stack([shape, factors]),
        kinds=["categorical"] + ["continuous"] * 3,
    )
    assert found(report) == [("own code", "123", "345"), ("spread", "0", "012")]


def test_codes_without_a_factor():
    rng, factors = world(1000)
    report = judge(np.column_stack([factors, rng.normal(size=(1000, 2))]), factors)
    assert found(report) == [("own code", "012", "012"), ("empty code", "", "34")]


def test_a_dead_code_and_a_lost_factor():
    _, factors = world()
    codes = np.column_stack([factors[:, :2] + 0.03, np.ones(len(factors))])
    report = judge(codes, factors, noise=0.0)
    assert found(report) == [("own code", "01", "01"), ("lost", "2", ""), ("dead code", "", "2")]


def test_a_factor_that_no_line_reads():
    _, factors = world()
    squared = np.column_stack([factors[:, 0] ** 2, factors[:, 1:]])
    report = judge(factors, squared, noise=0.0)
    assert found(report) == [("own code", "12", "12"), ("curved", "0", "0")]
    assert "categorical" not in report.findings[1].sentence


@pytest.mark.parametrize("fold", [np.abs, np.square])
def test_a_factor_whose_sign_is_gone_is_not_lost(fold):
    _, factors = world(1500)
    report = judge(np.column_stack([fold(factors[:, 0]), factors[:, 1:]]), factors)
    assert found(report) == [("own code", "12", "12"), ("folded", "0", "0")]
    assert report.findings[1].sentence.startswith("“code_0” is informative about “factor_0” (0.")
    assert "but probes predict only 0.0" in report.findings[1].sentence


def test_lines_alone_do_not_say_that_a_sign_is_gone():
    rng = np.random.default_rng(0)
    factors = rng.integers(8, size=(2000, 3)).astype(float)
    codes = np.column_stack([factors[:, 0] + 8 * factors[:, 1], factors[:, 2]])
    report = judge(codes, factors, metrics=["mig", "sap", "dci_linear"])
    assert ("curved", "0", "0") in found(report)
    assert {"lost", "folded"}.isdisjoint(kind for kind, *_ in found(report))


def test_a_factor_that_values_but_no_means_show_is_not_called_lost():
    _, factors = world(700)
    codes = np.column_stack([factors[:, 0] ** 2, factors[:, 1:]])
    report = judge(codes, factors, metrics=["dci_linear", "dci_forest", "explicitness"])
    assert found(report) == [("own code", "12", "12")]
    without = judge(codes, factors, metrics=["dci_linear", "dci_forest"])
    assert found(without)[1][0] == "lost"
    sentence = "No probe predicts “factor_0” from the codes better than a baseline that ignores the codes."
    assert without.findings[1].sentence == sentence


def test_a_factor_that_is_read_in_part():
    rng, factors = world(1000)
    codes = factors.copy()
    codes[:, 0] += 0.6 * rng.standard_normal(1000)
    report = judge(codes, factors)
    assert found(report) == [("own code", "12", "12"), ("partly", "0", "0")]
    assert report.findings[1].sentence.endswith("of it, from “code_0”), from a code of its own.")


def test_two_factors_half_read_from_one_code_and_from_one_each_are_told_apart():
    rng, factors = world(1500)
    packed = judge(np.column_stack([factors[:, 0] + factors[:, 1], factors[:, 2]]), factors)
    assert found(packed) == [("own code", "2", "1"), ("packed", "01", "0"), ("partly", "01", "0")]
    assert packed.findings[1].sentence.endswith(
        " share one code, “code_0”; at least one of them is predicted only in part."
    )
    noisy = judge(factors + 0.58 * rng.normal(size=factors.shape), factors)
    assert found(noisy) == [("partly", "012", "012")]
    assert noisy.findings[0].sentence.endswith(", each from a code of its own.")


def test_a_code_that_a_half_read_factor_needs_is_not_its_factors_own():
    _, factors = world(2000)
    codes = np.column_stack([factors[:, 0] * np.sign(factors[:, 1]), factors[:, 1:]])
    report = judge(codes, factors)
    assert ("own code", "2", "2") in found(report)


@pytest.mark.parametrize("bend", [1, 3])
def test_copies_straight_or_bent(bend):
    _, factors = world()
    report = judge(np.column_stack([factors, factors[:, 0] ** bend]), factors)
    assert found(report) == [("own code", "12", "12"), ("copied", "0", "03")]


def test_two_factors_in_one_code():
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(size, size=900) for size in (3, 8, 5)], axis=1)
    codes = np.column_stack([10.0 * factors[:, 0] + factors[:, 1], factors[:, 2]])
    assert ("packed", "01", "0") in found(judge(codes, factors))


@pytest.mark.parametrize(("n_rows", "seed"), [(60, 0), (60, 1), (60, 2), (600, 3)])
def test_nothing_is_found_in_noise(n_rows, seed):
    rng, factors = world(n_rows, seed=seed)
    report = judge(rng.normal(size=(n_rows, 5)), factors)
    assert found(report) in ([], [("lost", "012", "")])
    assert n_rows < 600 or report.findings[0].sentence.startswith("The codes encode none of the factors in these 600")


def test_noise_is_not_called_empty_by_lines_alone():
    rng, factors = world(600)
    assert found(judge(rng.normal(size=(600, 5)), factors, metrics=["mig", "sap", "dci_linear"])) == []


@pytest.mark.parametrize(("rows", "levels"), [(60, 8), (200, 20), (700, 20), (2000, 4)])
def test_what_independent_columns_share_by_chance(rows, levels):
    rng = np.random.default_rng(rows)
    told = []
    for _ in range(40):
        table = np.histogram2d(rng.random(rows), rng.integers(levels, size=rows), [20, levels])[0] / rows
        even = np.outer(table.sum(axis=1), table.sum(axis=0))
        told.append(float((table[table > 0] * np.log(table[table > 0] / even[table > 0])).sum()))
    assert max(told) < most_by_chance(rows, 20, levels) < np.mean(told) + 6 * np.std(told)


@pytest.mark.parametrize("seed", range(3))
def test_few_rows_claim_nothing_that_is_not_so(seed):
    rng, factors = world(60, seed=seed)
    report = judge(np.column_stack([factors, rng.normal(size=(60, 3))]), factors, noise=0.3, seed=seed)
    assert {kind for kind, *_ in found(report)} <= {"own code", "empty code"}


def test_without_probes_only_dead_codes_are_named():
    _, factors = world(200)
    codes = np.column_stack([factors[:, :2] @ turn(45), np.zeros(200)])
    assert found(judge(codes, factors, noise=0.0, metrics=["mig", "sap"])) == [("dead code", "", "2")]
    assert find_structure(judge(codes, factors, metrics=["mig"])) is None


def test_a_report_read_back_gives_the_same_findings(tmp_path):
    _, factors = world(300, 2)
    report = judge(factors @ turn(45), factors)
    report.to_json(tmp_path / "report.json")
    (again,) = read_reports(tmp_path / "report.json").values()
    assert report.findings
    assert again.findings == diagnose(again) == report.findings


def test_the_fewest_codes_leave_out_what_hardly_counts():
    assert fewest(np.array([0.9, 0.1])) == (0,)
    assert fewest(np.array([0.1, 0.62, 0.28])) == (1, 2)
    assert fewest(np.r_[0.8, np.full(20, 0.01)]) == (0,)
    assert fewest(np.zeros(3)) == ()


def test_trees_show_the_codes_of_a_factor_only_where_they_predict_nearly_all():
    for by_line, by_trees, expected in [(0.1, 0.8, ()), (0.1, 0.95, (0, 1)), (0.92, 0.95, (0,)), (0.6, 0.62, ())]:
        probes = [
            ProbeEvidence(
                is_linear=linear, importance=np.array(matrix), predicted=np.array([predicted]), score=ub.Score(value=0)
            )
            for linear, matrix, predicted in ((True, [[1.0], [0.0]], by_line), (False, [[0.5], [0.5]], by_trees))
        ]
        assert main_codes(0, probes) == expected


def test_a_folded_factor_has_its_share_of_entropy_without_the_mutual_information_gap():
    _, factors = world(600, 2)
    codes = np.column_stack([np.abs(factors[:, 0]), factors[:, 1]])
    report = judge(codes, factors, metrics=["modularity", "sap", "dci_linear", "dci_forest"])
    folded = next(item for item in report.findings if item.kind is ub.FindingKind.FOLDED)
    assert folded.factors == ("factor_0",)
    assert "of its entropy" in folded.sentence


def test_names_are_those_of_the_user():
    _, factors = world(600, 2)
    codes = factors @ turn(45)
    report = judge(codes, {"x": factors[:, 0], "y": factors[:, 1]}, code_names=["a", "b"])
    assert (report.findings[0].factors, report.findings[0].codes) == (("x", "y"), ("a", "b"))
    assert replace(report, findings=()).findings == ()


def test_a_factor_keeps_its_code_though_trees_use_it_a_little_for_a_half_read_category():
    rng = np.random.default_rng(2)
    own, shape = rng.uniform(-1, 1, 500), rng.integers(3, size=500)
    shown = np.where(rng.random(500) < 0.45, shape, rng.integers(3, size=500))
    codes = np.column_stack([own, shown + 0.08 * rng.standard_normal(500)])
    report = judge(codes, np.column_stack([own, shape]), kinds=["continuous", "categorical"])
    assert ("own code", "0", "0") in found(report)
    assert ("partly", "1") in [(kind, factors) for kind, factors, _ in found(report)]


def test_factors_rotated_under_noise_are_read_in_part():
    rng = np.random.default_rng(3)
    factors = rng.standard_normal((600, 3))
    codes = factors.copy()
    codes[:, :2] = factors[:, :2] @ turn(40) + 1.2 * rng.standard_normal((600, 2))
    report = judge(codes, factors)
    assert [(kind, about) for kind, about, _ in found(report)] == [("own code", "2"), ("partly", "01")]


@pytest.mark.parametrize("seed", range(3))
def test_a_weak_code_in_few_rows_is_neither_empty_nor_its_factor_lost(seed):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((120, 2))
    codes = np.column_stack([factors[:, 0], 0.3 * factors[:, 1] + rng.standard_normal(120)])
    kinds = {kind for kind, *_ in found(judge(codes, factors, seed=seed))}
    assert kinds.isdisjoint({"lost", "empty code"})


@pytest.mark.parametrize("seed", range(3))
def test_noisy_codes_of_one_factor_are_no_copies(seed):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((150, 2))
    noisy = factors[:, :1] + 0.85 * rng.standard_normal((150, 3))
    report = judge(np.column_stack([noisy, factors[:, 1]]), factors, seed=seed)
    assert "copied" not in [kind for kind, *_ in found(report)]


def test_factors_that_hardly_depend_are_still_said_to_be_rotated():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((900, 2))
    factors[:, 1] = 0.35 * factors[:, 0] + np.sqrt(1 - 0.35**2) * factors[:, 1]
    report = judge(factors @ turn(40), factors)
    assert report.dependence.dependent_pairs
    assert found(report) == [("rotated", "01", "01")]


def test_trees_short_of_rows_do_not_say_that_codes_have_only_a_part():
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((200, 2))
    codes = np.column_stack([factors[:, 0] * np.sign(factors[:, 1]), factors[:, 1], rng.standard_normal((200, 4))])
    report = judge(codes, factors)
    structure = find_structure(report)
    assert structure.predicted[0] - structure.predicted_linearly[0] > 0.3
    assert "partly" not in [kind for kind, *_ in found(report)]


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_with_a_small_leak_are_not_called_mixed(seed):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((170, 2))
    codes = factors.copy()
    codes[:, 1] += 0.12 * factors[:, 0]
    report = judge(codes, factors, seed=seed)
    assert "mixed" not in [kind for kind, *_ in found(report)]


def test_a_rotation_is_seen_beside_codes_of_a_much_smaller_scale():
    rng, factors = world(700)
    codes = np.column_stack([factors[:, :2] @ turn(40), 1e-3 * factors[:, 2], 1e-3 * rng.standard_normal(700)])
    report = judge(codes, factors, noise=0.0)
    assert ("rotated", "01", "01") in found(report)
