"""Memory of scoring and reading: estimated from sizes, refused before any work, and near what is measured."""

import ctypes
import gc
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from unbraid import Representation, evaluate, load
from unbraid._base.memory import TooMuchMemoryError
from unbraid.metrics import METRICS
from unbraid.metrics.table.metric import InputSize
from unbraid.panel import evaluation
from unbraid.panel.cost import panel_bytes, size_of
from unbraid.panel.plan import plan_evidence, resolve_metrics
from unbraid.representation.formats.headers import file_bytes

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 5, (300, 3))
CODES = FACTORS + 0.1 * RNG.standard_normal((300, 3))


def planned(names, **options):
    return plan_evidence(resolve_metrics(names), {"n_bins": 20, "binning": "robust"}, options)


def test_absurd_options_are_refused_before_any_work(monkeypatch):
    def worked(*given):
        raise AssertionError("it went on")

    monkeypatch.setattr("unbraid.panel.evaluation._run", worked)
    message = r"^scoring 300 rows of 3 codes would take about .* less of dci_forest\.disentanglement.* --memory \d+G"
    with pytest.raises(TooMuchMemoryError, match=message):
        evaluate(CODES, FACTORS, metrics=["mig", "dci_forest"], options={"dci_forest": {"n_trees": 10**9}})
    with pytest.raises(TooMuchMemoryError, match=r"more than the 0 MiB it may take"):
        evaluate(CODES, FACTORS, metrics="mig", memory="1k")


def test_a_limit_changes_no_number():
    options = {"metrics": "sap", "intervals": False, "nulls": False}
    limited = evaluate(CODES, FACTORS, memory="1G", **options)
    assert limited["sap"].value == evaluate(CODES, FACTORS, **options)["sap"].value


def test_evidence_that_may_be_as_large_as_the_codes_does_not_outlive_its_scores(monkeypatch):
    gather, held, alive = evaluation._gather, [], []

    def watched(*given, **options):
        alive.append(sum(one() is not None for one in held))
        found = gather(*given, **options)
        held.append(weakref.ref(found.codes))
        return found

    monkeypatch.setattr(evaluation, "_gather", watched)
    evaluate(CODES, FACTORS, metrics="irs", n_jobs=1)
    assert len(alive) > 10
    assert max(alive) == 0


@pytest.mark.parametrize("metric", list(dict.fromkeys(metric.source.name for metric in METRICS.values())))
def test_more_rows_codes_and_jobs_take_more(metric):
    plans = planned([name for name, one in METRICS.items() if one.source.name == metric])
    sizes = [size_of(Representation(CODES[:, [0, 1] * k][:rows], FACTORS[:rows])) for k, rows in ((1, 200), (2, 300))]
    small, large = (panel_bytes(size, plans, n_jobs=1) for size in sizes)
    assert 0 < small < large < panel_bytes(sizes[1], plans, n_jobs=4)


def test_files_are_refused_by_their_headers(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 500), }".ljust(117) + "\n"
    (tmp_path / "codes.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header.encode())
    np.save(tmp_path / "labels.npy", FACTORS)
    with pytest.raises(TooMuchMemoryError, match=r"^reading '.*codes.npy' would take about 72.8 TiB"):
        load(tmp_path / "codes.npy", tmp_path / "labels.npy")
    np.savez(tmp_path / "codes.npz", codes=CODES, factors=FACTORS)
    with pytest.raises(TooMuchMemoryError, match="than the 0 MiB it may take"):
        load(tmp_path / "codes.npz", memory=1000)
    assert load(tmp_path / "codes.npz", memory="1M").n_samples == 300


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_the_estimate_of_a_file_is_about_its_table(tmp_path, suffix):
    from unbraid.representation.files import save

    path = save(Representation(CODES, FACTORS), tmp_path / f"codes{suffix}")
    assert 1 < file_bytes(path) / (8 * 300 * 6) < 12


def test_what_is_no_file_of_its_kind_is_left_to_the_reader(tmp_path):
    for suffix in (".npz", ".npy", ".parquet", ".xyz"):
        (tmp_path / f"codes{suffix}").write_bytes(b"nothing of the kind")
        assert file_bytes(tmp_path / f"codes{suffix}") == 0


def peak_bytes(work):
    """Peak memory of a call beyond what was there before."""

    def status(key):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    work()
    return status("VmHWM") - before


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are Linux's")
@pytest.mark.parametrize("metric", ["sap", "z_diff", "explicitness"])
def test_estimates_are_near_measured_peaks(metric):
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 6, (40_000, 4))
    rep = Representation(np.concatenate([factors, rng.standard_normal((40_000, 16))], axis=1), factors)
    options = {"metrics": metric, "intervals": False, "nulls": False, "n_jobs": 1, "progress": False}
    evaluate(rep.take(np.arange(300)), **options)  # imports
    peak = peak_bytes(lambda: evaluate(rep, **options))
    estimate = panel_bytes(size_of(rep), planned(metric), n_jobs=1, refits=False)
    assert 0.5 < estimate / peak < 5


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are Linux's")
@pytest.mark.parametrize("metric", ["z_min_var", "irs", "r2", "dci_linear"])
def test_estimates_of_wide_codes_are_near_measured_peaks(metric):
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 2, (12_000, 4))
    rep = Representation(rng.standard_normal((12_000, 1000)), factors)
    options = {"metrics": metric, "intervals": False, "nulls": False, "n_jobs": 1, "progress": False}
    evaluate(rep.take(np.arange(300)), **options)  # imports
    peak = peak_bytes(lambda: evaluate(rep, **options))
    plans = plan_evidence(resolve_metrics(metric), {}, {}, rep)
    assert 0.7 < panel_bytes(size_of(rep), plans, n_jobs=1, refits=False) / peak < 5


def test_the_panel_of_4096_codes_fits_into_a_common_machine():
    codes = np.random.default_rng(0).standard_normal((80, 4096))
    few = Representation(codes, np.arange(80) % 2)
    size = InputSize(n_rows=50_000, n_codes=4096, n_factors=40, n_levels=2)
    plans = plan_evidence(resolve_metrics("default"), {}, {}, few)
    assert panel_bytes(size, plans, n_jobs=2) < 14 * 2**30
