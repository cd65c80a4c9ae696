"""Best single codes, sparse probes and absorption, against answers known on paper and scikit-learn's measures."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from unbraid import Representation, evaluate, metrics
from unbraid.evidence.concepts import ConceptOptions, average_precision, concepts_of, single_codes
from unbraid.probes.batched import fit_logistic

MANY = 4096


@pytest.fixture(scope="module")
def noise():
    """Noise of many codes, and eight labels of two values."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(1000, MANY)), rng.integers(0, 2, (1000, 8))


def flipped(share: float, n_rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """One label of two values, a code that equals it but in a share of the rows of each value, and codes of noise."""
    rng = np.random.default_rng(1)
    label = np.arange(n_rows) % 2
    code = label.copy()
    for value in (0, 1):
        rows = np.flatnonzero(label == value)
        code[rows[: round(share * len(rows))]] = 1 - value
    return np.column_stack([code, rng.normal(size=(n_rows, 30))]), label[:, None]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_the_area_of_a_code_that_errs_in_a_share_of_the_rows(share):
    codes, label = flipped(share)
    shuffled = np.random.default_rng(2).permutation(len(codes))
    found = metrics.best_single(codes[shuffled], label[shuffled], n_folds=2)
    # On all rows the area is one minus the share; folds hold the share but for chance, and average to it.
    assert found.evidence["auroc"][0, 0] == pytest.approx(1 - share, abs=1e-9)
    assert found.value == pytest.approx(1 - share, abs=0.01)
    assert found.evidence["chosen"].tolist() == [0]


def test_codes_that_are_the_factors_score_one_in_every_measure():
    factors = np.random.default_rng(0).integers(0, 4, (400, 3))
    for measure in ("auroc", "average_precision", "accuracy"):
        assert metrics.best_single(factors + 0.0, factors, measure=measure).value == pytest.approx(1, abs=1e-6)
        assert metrics.sparse_probe(factors + 0.0, factors, k=1, measure=measure).value == pytest.approx(1, abs=1e-6)


def test_a_probe_of_two_codes_finds_what_needs_both_and_one_does_not():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(2000, 12))
    label = (z[:, 3] + z[:, 7] > 0).astype(int)[:, None]
    # Of three normal numbers, two of which correlate by 1/2 with the third: 4 (1/8 + (π/3) / 4π) = 5/6.
    assert metrics.sparse_probe(z, label, k=1).value == pytest.approx(5 / 6, abs=0.02)
    assert metrics.sparse_probe(z, label, k=2).value > 0.99
    by_k = metrics.sparse_probe(z, label, k=3)
    assert by_k.evidence["ks"].tolist() == [1, 2, 3, 5, 10]
    assert by_k.value == pytest.approx(by_k.evidence["by_k"][2].mean())


@pytest.mark.slow
@pytest.mark.parametrize("metric", [metrics.best_single, metrics.sparse_probe])
def test_the_best_of_many_codes_of_noise_is_at_chance_on_other_rows(metric, noise):
    found = metric(*noise)
    assert found.value == pytest.approx(0.5, abs=0.02)
    in_sample, by_chance = found.evidence["in_sample"].mean(), found.evidence["chance_in_sample"].mean()
    assert in_sample > 0.57
    assert by_chance == pytest.approx(0.57, abs=0.02)
    assert any(f"{in_sample:.3f}" in note and "4096" in note for note in found.notes)


@pytest.mark.slow
def test_the_interval_of_noise_holds_a_half(noise):
    codes, labels = noise
    report = evaluate(codes, labels[:, :3], metrics="best_single,sparse_probe", n_jobs=1, progress=False)
    for score in report.values():
        assert score.low <= 0.5 <= score.high
        assert not score.beats_chance


@pytest.mark.slow
def test_choosing_on_the_tested_rows_would_be_caught(monkeypatch, noise):
    """The test of noise can fail: with the test rows among the training rows, the area is far from a half."""
    from unbraid.evidence import concepts
    from unbraid.probes.splits import Split

    def all_rows(factor, *, n_folds, rng):
        rows = np.arange(len(factor.numbers))
        return [Split(train=rows, test=rows)] * n_folds

    monkeypatch.setattr(concepts, "cross_fit_factor", all_rows)
    assert metrics.best_single(noise[0], noise[1][:, :2]).value > 0.55


def test_concepts_follow_the_kind_of_a_factor():
    values = np.arange(40) % 4
    rep = Representation(
        np.random.default_rng(0).normal(size=(40, 2)),
        {"name": np.array(list("abcd"))[values], "size": values, "turn": 90 * values, "yes": values > 1},
        kinds={"turn": "circular:360"},
    )
    found = {factor.name: concepts_of(factor, ConceptOptions()) for factor in rep.factors}
    assert found["name"][0] == ("name = a", "name = b", "name = c", "name = d")
    assert found["size"][0] == ("size ≥ 1", "size ≥ 2", "size ≥ 3")
    assert [len(found[name][0]) for name in ("turn", "yes")] == [4, 1]
    assert found["name"][1].sum(axis=1).tolist() == [10] * 4
    assert found["size"][1].sum(axis=1).tolist() == [30, 20, 10]
    assert found["turn"][1].sum(axis=1).tolist() == [20] * 4


def test_a_middle_category_on_one_code_is_what_the_ceiling_says():
    factors = np.random.default_rng(0).integers(0, 3, (900, 1))
    codes = np.hstack([factors + 0.0, np.random.default_rng(1).normal(size=(900, 1))])
    rep = Representation(codes, {"kind": np.array(["a", "b", "c"])[factors[:, 0]]})
    ceiling = metrics.METRICS["best_single"].ceiling.of(
        type("F", (), {"kind": "categorical", "levels": 3, "n_rows": 900, "options": {}})
    )
    assert metrics.best_single(rep).value == pytest.approx(ceiling, abs=0.02)


def test_measures_equal_those_of_scikit_learn():
    rng = np.random.default_rng(4)
    odds, members = rng.normal(size=200).round(1), rng.random(200) < 0.3
    assert average_precision(odds, members) == pytest.approx(average_precision_score(members, odds), abs=1e-12)
    codes, label = rng.normal(size=(300, 5)), rng.integers(0, 2, 300)
    areas = single_codes(Representation(codes, label[:, None]), ConceptOptions(), np.random.default_rng(0)).auroc[:, 0]
    assert areas == pytest.approx([roc_auc_score(label, column) for column in codes.T], abs=1e-12)


def test_probes_fitted_at_once_equal_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(3, 400, 4))
    members = np.einsum("cnk,k->cn", columns, [1.0, -2.0, 0.0, 0.5]) + rng.logistic(size=(3, 400)) > 1
    ours = fit_logistic(columns, members)
    for target in range(3):
        model = LogisticRegression(tol=1e-10, max_iter=1000).fit(columns[target], members[target])
        assert ours[target, :-1] == pytest.approx(model.coef_[0], abs=1e-4)


def test_separable_rows_do_not_break_the_fit():
    columns = np.linspace(-1, 1, 100)[None, :, None]
    weights = fit_logistic(columns, columns[..., 0] > 0.3)
    assert np.isfinite(weights).all()
    assert weights[0, 0] > 0


def hierarchy(n_rows: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    parent = rng.random(n_rows) < 0.5
    return parent, parent & (rng.random(n_rows) < 0.3), rng.normal(size=(n_rows, 20))


def test_a_child_that_takes_all_its_rows_from_the_parent_absorbs_it():
    parent, child, noise = hierarchy()
    absorbed = metrics.absorption(np.column_stack([parent & ~child, child, noise]), parent, child)
    assert absorbed.value == 1
    assert absorbed.low > 0.99
    assert absorbed.beats_chance
    assert absorbed.evidence["recall"].tolist() == [1, 0]
    assert absorbed.evidence["code"].tolist() == [0]


def test_a_child_that_takes_a_share_of_its_rows_absorbs_that_share():
    parent, child, noise = hierarchy()
    taken = child.copy()
    taken[np.flatnonzero(child)[::4]] = False
    found = metrics.absorption(np.column_stack([parent & ~taken, child, noise]), parent, child)
    assert found.value == pytest.approx(0.75, abs=2e-3)
    assert found.low < 0.75 < found.high


def test_a_parent_that_always_speaks_is_not_absorbed():
    parent, child, noise = hierarchy()
    found = metrics.absorption(np.column_stack([parent, child, noise]), parent, child)
    assert found.value == 0
    assert not found.beats_chance
    # Turned round, the code says the same.
    assert metrics.absorption(np.column_stack([-3.0 * parent, child, noise]), parent, child).value == 0


def test_order_and_increasing_maps_of_codes_leave_absorption_and_mixing_does_not():
    parent, child, noise = hierarchy()
    taken = child & (np.arange(len(child)) % 3 > 0)
    codes = np.column_stack([parent & ~taken, child, noise]) + 0.0
    before = metrics.absorption(codes, parent, child).value
    assert metrics.absorption(np.exp(codes[:, ::-1]), parent, child).value == pytest.approx(before, abs=1e-9)
    mixed = np.column_stack([codes[:, 0] + codes[:, 1], codes[:, 1] - codes[:, 0], noise])
    assert abs(metrics.absorption(mixed, parent, child).value - before) > 0.1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p, c: (p[:-1], c), "parent must have shape"),
        (lambda p, c: (p + 1 * c, c), "parent must have two values, got 3"),
        (lambda p, c: (p, c & (np.cumsum(c) < 5)), "parent with child must have at least 10 rows, got 4"),
    ],
)
def test_labels_that_are_no_parent_and_child_are_refused(change, says):
    parent, child, noise = hierarchy(300)
    with pytest.raises(ValueError, match=says):
        metrics.absorption(noise, *change(parent, child))


def test_rows_of_the_child_without_the_parent_are_left_out_with_a_note():
    parent, child, noise = hierarchy()
    child[np.flatnonzero(~parent)[:7]] = True
    found = metrics.absorption(np.column_stack([parent, child, noise]), parent, child)
    assert any(note.startswith("7 rows where the child holds") for note in found.notes)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"measure": "f1"}, "measure must be"), ({"n_folds": 1}, "n_folds must be at least 2"), ({"k": 0}, "k must be")],
)
def test_bad_options_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        metrics.sparse_probe(*flipped(0.1), **options)
