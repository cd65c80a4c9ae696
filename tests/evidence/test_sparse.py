"""Evidence of sparse codes is that of the same codes written out, and the right codes are found among thousands."""

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import rankdata

import unbraid as ub
from unbraid.evidence.association import CorrelationOptions, NoOptions, correlations, predictability
from unbraid.evidence.classes import ClassOptions
from unbraid.evidence.counting import chance_variance, information_of
from unbraid.evidence.information import InformationOptions, discretise, factor_labels, joint_counts
from unbraid.evidence.sparse.association import sparse_correlations, sparse_predictability
from unbraid.evidence.sparse.choosing import choose_codes
from unbraid.evidence.sparse.columns import rank_differences, sparse_bins
from unbraid.evidence.sparse.concepts import sparse_class_association
from unbraid.evidence.sparse.information import _column, sparse_information_table
from unbraid.metrics.table.layouts import source_for
from unbraid.representation.representation import Representation
from unbraid.representation.sparse import SparseRepresentation


def mixed_codes(rng, n_rows=600):
    """Columns of every sort: a few values, continuous ones of both signs, full, nearly full, shared, empty."""
    columns = [
        np.where(rng.random(n_rows) < 0.05, rng.choice([1.0, 2.0, 3.0], n_rows), 0.0),
        np.where(rng.random(n_rows) < 0.3, rng.normal(size=n_rows), 0.0),
        rng.normal(size=n_rows) + 5,
        np.where(rng.random(n_rows) < 0.9, rng.exponential(size=n_rows), 0.0),
        np.where(rng.random(n_rows) < 0.5, np.where(rng.random(n_rows) < 0.7, 2.5, rng.normal(size=n_rows)), 0.0),
        np.zeros(n_rows),
        np.where(rng.random(n_rows) < 0.8, np.where(rng.random(n_rows) < 0.99, 1.0, rng.random(n_rows)), 0.0),
        np.where(np.arange(n_rows) == 17, -3.0, 0.0),
        np.where(np.arange(n_rows) < 6, np.arange(n_rows), 0.0),
        np.zeros(n_rows),
    ]
    return np.stack(columns, axis=1)


def some_factors(rng, codes, *, partly=False):
    n_rows = len(codes)
    columns = {
        "shape": np.where(codes[:, 0] > 1, 0, rng.integers(0, 3, n_rows)).astype(float),
        "size": codes[:, 1] + rng.normal(size=n_rows),
        "hue": rng.uniform(0, 360, n_rows),
        "half": (codes[:, 3] > 0.7).astype(float),
    }
    if partly:
        for column in columns.values():
            column[rng.random(n_rows) < 0.2] = np.nan
    return columns


KINDS = {"shape": "categorical", "size": "continuous", "hue": "circular:360", "half": "categorical"}


@pytest.fixture(params=[False, True], ids=["all labelled", "partly labelled"])
def pair(request):
    rng = np.random.default_rng(5)
    codes = mixed_codes(rng)
    factors = some_factors(rng, codes, partly=request.param)
    given = {"factors": factors, "kinds": KINDS}
    return Representation(codes, **given), SparseRepresentation(scipy.sparse.csr_matrix(codes), **given)


@pytest.mark.parametrize("binning", ["robust", "uniform", "quantile"])
def test_zero_is_a_bin_of_its_own_and_other_values_are_cut_as_they_would_be_alone(pair, binning):
    dense, sparse = pair
    options = InformationOptions(n_bins=6, binning=binning)
    bins, used = sparse_bins(sparse, options)
    starts = sparse.by_column.indptr
    for j, column in enumerate(dense.codes.T):
        values = column[column != 0]
        if not len(values):
            continue
        alone, n_alone = discretise(values, 5, binning)
        np.testing.assert_array_equal(bins[starts[j] : starts[j + 1]], alone + 1)
        assert used[j] == n_alone + (len(values) < len(column))


@pytest.mark.parametrize("correction", ["none", "miller_madow", "schurmann"])
def test_information_is_that_of_the_full_tables(pair, correction):
    dense, sparse = pair
    options = InformationOptions(n_bins=7, bias_correction=correction)
    bins, used = sparse_bins(sparse, options)
    full = sparse.by_column.copy()
    full.data = bins.astype(float)
    labels_of_codes = full.toarray().T.astype(np.int16)
    table = sparse_information_table(sparse, options, np.random.default_rng(0))
    for k, factor in enumerate(dense.factors):
        counts = joint_counts(labels_of_codes, 7, *factor_labels(factor, 7, "robust"))
        wanted = information_of(counts, np.maximum(used, 1), correction)
        np.testing.assert_allclose(table.mutual_information[:, k], wanted.mutual_information, atol=1e-10)
        np.testing.assert_allclose(table.code_entropy[:, k], wanted.code_entropy, atol=1e-10)
        np.testing.assert_allclose(table.plug_in[:, k], wanted.plug_in, atol=1e-10)
        assert table.factor_entropy[k] == pytest.approx(wanted.factor_entropy, abs=1e-10)
        found = _column(sparse, k, options, shares=(1.0, 0.25), rough=False).chance
        for row, share in zip(found, (1.0, 0.25), strict=True):
            np.testing.assert_allclose(row, chance_variance(counts, correction, share=share), atol=1e-10)


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_correlations_are_those_of_the_codes_written_out(pair, correlation):
    dense, sparse = pair
    options, rng = CorrelationOptions(correlation=correlation), np.random.default_rng(0)
    wanted = correlations(dense, options, rng).matrix
    np.testing.assert_allclose(sparse_correlations(sparse, options, rng).matrix, wanted, atol=1e-9)


def test_single_codes_predict_as_the_codes_written_out(pair):
    dense, sparse = pair
    wanted = predictability(dense, NoOptions(), np.random.default_rng(3)).matrix
    found = sparse_predictability(sparse, NoOptions(), np.random.default_rng(3)).matrix
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_ranks_differ_from_those_of_all_rows_by_a_constant():
    codes = mixed_codes(np.random.default_rng(1))
    found = rank_differences(scipy.sparse.csc_matrix(codes)).toarray()
    offset = rankdata(codes, axis=0) - found
    np.testing.assert_allclose(offset, np.broadcast_to(offset[0], offset.shape), atol=1e-9)


def test_scores_intervals_and_chance_of_a_few_values_are_those_of_the_dense_path():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (2000, 2))
    codes = np.where(rng.random((2000, 12)) < 0.1, rng.choice([1.0, 2.0], (2000, 12)), 0.0)
    codes[:, 3], codes[:, 5] = labels[:, 0] == 2, labels[:, 1]
    names = ["mig", "dcimig", "sap", "mcc"]
    dense = ub.evaluate(codes, labels, kinds=["categorical"] * 2, metrics=names)
    sparse = ub.evaluate(scipy.sparse.csr_matrix(codes), labels, kinds=["categorical"] * 2, metrics=names)
    for name in names:
        assert sparse[name].value == pytest.approx(dense[name].value, abs=1e-6)
        assert sparse[name].low == pytest.approx(dense[name].low, abs=1e-4)
        assert sparse[name].null == pytest.approx(dense[name].null, abs=1e-6)


def known_among_many(n_rows=3000, n_codes=16_384):
    """Three codes that have a factor each, among thousands that are active at random."""
    rng = np.random.default_rng(8)
    factors = {
        "kind": rng.integers(0, 2, n_rows),
        "word": rng.integers(0, 2, n_rows),
        "size": np.maximum(rng.normal(size=n_rows), 0.0),
    }
    noise = scipy.sparse.random(n_rows, n_codes - 3, density=0.003, format="csc", random_state=4)
    known = scipy.sparse.csc_matrix(np.stack(list(factors.values()), axis=1))
    parts = [noise[:, :41], known[:, 0], noise[:, 41:9000], known[:, 1], noise[:, 9000:], known[:, 2]]
    return scipy.sparse.hstack(parts, format="csr"), factors


@pytest.mark.slow
def test_known_codes_are_found_among_thousands_and_chance_is_that_of_the_best_of_them():
    codes, factors = known_among_many()
    before = codes.copy()
    report = ub.evaluate(codes, factors, kinds={"size": "continuous"}, metrics=["mig", "mcc", "sap"])
    information = report["mig"].evidence["mutual_information"]
    assert information.argmax(axis=0).tolist() == [41, 9001, 16_383]
    assert report["mcc"].value > 0.99
    assert report["mig"].value > 0.8
    assert report["mcc"].beats_chance
    # The largest of 16 384 correlations of noise with 3000 rows, about the root of 2 log(16 384) / 3000.
    assert 0.06 < report["mcc"].null < 0.25
    assert (codes != before).nnz == 0


@pytest.mark.slow
def test_probes_of_few_sparse_codes_score_as_those_of_the_codes_written_out():
    rng = np.random.default_rng(0)
    factors = {"kind": rng.integers(0, 3, 600), "size": rng.normal(size=600)}
    codes = np.where(rng.random((600, 20)) < 0.2, rng.normal(size=(600, 20)), 0.0)
    codes[:, 3], codes[:, 7] = factors["kind"] == 1, np.maximum(factors["size"], 0.0)
    given = {"kinds": {"kind": "categorical"}, "intervals": False, "nulls": False}
    names = ["r2", "explicitness", "infomec.explicitness", "dci_linear", "dci_forest", "iwo"]
    dense = ub.evaluate(codes, factors, metrics=names, **given)
    sparse = ub.evaluate(scipy.sparse.csr_matrix(codes), factors, metrics=names, **given)
    assert not sparse.failures
    for name, score in dense.scores.items():
        assert sparse[name].value == pytest.approx(score.value, abs=0.005 if "infomec" in name else 1e-4), name


def test_codes_are_chosen_on_rows_that_are_not_scored():
    codes, factors = known_among_many(n_rows=500, n_codes=3000)
    rep = SparseRepresentation(codes, {**factors, "row": np.arange(500.0)})
    chosen = choose_codes(rep, 30, np.random.default_rng(0))
    assert {41, 2999} <= set(chosen.columns.tolist())
    assert len(chosen.columns) == 3  # the others are active in one or two rows
    assert chosen.rep.n_samples == 350
    # Of what is left, the codes tell nothing about the rows that chose them: the order of rows was drawn.
    rows = chosen.rep.factors[-1].numbers.astype(int)
    order = np.random.default_rng(0).permutation(500)
    assert set(rows) == set(order[150:])
    wanted = codes[rows][:, chosen.columns].toarray()
    np.testing.assert_array_equal(chosen.rep.by_row.toarray(), wanted)


def test_codes_that_are_hardly_ever_active_do_not_spoil_a_linear_probe():
    rng = np.random.default_rng(2)
    size = np.maximum(rng.normal(size=900), 0.0)
    rare = scipy.sparse.random(900, 4000, density=0.004, format="csr", random_state=1)
    codes = scipy.sparse.hstack([scipy.sparse.csr_matrix(size[:, None]), rare], format="csr")
    report = ub.evaluate(codes, {"size": size}, metrics=["r2"], intervals=False)
    assert report["r2"].value > 0.9


@pytest.mark.slow
def test_trees_and_probes_find_known_codes_among_thousands_and_nothing_in_noise():
    codes, factors = known_among_many(n_rows=2000, n_codes=10_000)
    names = ["dci_forest", "dci_linear", "r2", "explicitness", "iwo"]
    report = ub.evaluate(codes, factors, kinds={"size": "continuous"}, metrics=names)
    assert not report.failures
    assert report["dci_forest.disentanglement"].value > 0.95
    assert report["dci_forest.completeness"].value > 0.95
    assert report["dci_forest.informativeness"].value > 0.95
    assert report["r2"].value > 0.95
    assert report["dci_forest.disentanglement"].per_code.shape == (10_000,)
    rng = np.random.default_rng(1)
    noise = {name: rng.permutation(values) for name, values in factors.items()}
    blind = ub.evaluate(
        codes, noise, kinds={"size": "continuous"}, metrics=["dci_forest.disentanglement", "r2", "explicitness"]
    )
    assert blind["r2"].value < 0.02
    assert abs(blind["explicitness"].value - 0.5) < 0.05
    assert not blind["explicitness"].beats_chance
    assert not blind["dci_forest.disentanglement"].beats_chance


def test_sparse_codes_without_factors_are_refused():
    codes = scipy.sparse.random(200, 30, density=0.2, format="csr", random_state=1)
    with pytest.raises(ValueError, match="factors must be given where codes are sparse"):
        ub.evaluate(codes)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda codes: codes * np.nan, "codes must be finite, got NaN or inf in 4 of 4 rows"),
        (lambda codes: codes[:2], "codes must have at least 4 rows, got 2"),
        (lambda codes: codes[:, :1], "codes must have at least two columns, got 1"),
        (lambda codes: codes * 1j, "codes must be real numbers, got complex128"),
        (lambda codes: codes * 1e31, "codes must be at most 1e.30 in size"),
        (lambda codes: codes * 0, "codes must vary"),
    ],
)
def test_sparse_codes_that_no_metric_can_use_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        SparseRepresentation(change(scipy.sparse.eye(4, format="csr")), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("name", "options"),
    [("best_single", {}), ("sparse_probe", {}), ("one_vs_rest", {}), ("one_vs_rest", {"by": "spearman"})],
)
def test_concepts_and_values_are_those_of_the_same_codes_written_out(pair, name, options):
    """Information is counted in other bins, as zero is a bin of its own, and is compared for codes of few values."""
    metric = ub.METRICS[name]
    evidence, _ = metric.split_options(options)
    dense, sparse = (source_for(metric.source, rep).gather(rep, evidence, np.random.default_rng(0)) for rep in pair)
    if name == "one_vs_rest":
        assert sparse.values == dense.values
        same = slice(0, 1) if not options else slice(None)
        assert sparse.matrix[same] == pytest.approx(dense.matrix[same], abs=1e-9)
    else:
        assert sparse.auroc == pytest.approx(dense.auroc, abs=1e-12)
        assert sparse.chosen.tolist() == dense.chosen.tolist()
        assert sparse.held_out == pytest.approx(dense.held_out, abs=1e-6, nan_ok=True)


@pytest.mark.slow
def test_the_panel_for_sparse_codes_scores_sparse_codes():
    rng = np.random.default_rng(0)
    codes = scipy.sparse.random(400, 500, density=0.02, format="lil", random_state=1)
    animal = rng.integers(0, 4, 400)
    for value in range(4):
        codes[:, 100 + value] = np.where(animal == value, rng.exponential(size=400), 0.0)[:, None]
    kinds = {"animal": "categorical", "size": "ordinal"}
    factors = {"animal": animal, "size": rng.integers(0, 3, 400)}
    report = ub.evaluate(codes.tocsr(), factors, kinds=kinds, metrics="sparse", nulls=False, n_jobs=1, progress=False)
    assert report.failures == {}
    assert report["best_single"].per_factor[0] > 0.95
    rep = SparseRepresentation(codes.tocsr(), factors, kinds=kinds)
    with pytest.raises(ValueError, match="by must be"):
        sparse_class_association(rep, ClassOptions(by="neighbours"), rng)


def test_metric_without_a_path_for_sparse_codes_names_itself_and_the_cure():
    rng = np.random.default_rng(0)
    codes = scipy.sparse.random(200, 30, density=0.2, format="csr", random_state=1)
    report = ub.evaluate(codes, rng.integers(0, 3, (200, 2)), metrics=["mig", "irs"])
    assert report.failures["irs"] == (
        "irs is not computed from sparse codes; give the codes that matter as a dense array, as in "
        "codes[:, chosen].toarray()."
    )
    assert set(report.scores) == {"mig"}
