"""Trackers: TensorBoard and MLflow are the real ones, read back; Weights & Biases, 70 MB, is a double."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import unbraid as ub
from helpers.reports import build_report
from unbraid.integrations.loggers import log_report, numbers


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (200, 2))
    codes = factors + 0.2 * rng.standard_normal(factors.shape)
    return ub.evaluate(codes, factors, metrics="mig,dci_linear", n_jobs=1, name="codes")


def test_what_is_sent(report):
    sent = dict(numbers(report, "x/"))
    mig = report["mig"]
    assert {name: value for name, value in sent.items() if name.startswith("x/mig")} == {
        "x/mig": mig.value,
        "x/mig_low": mig.low,
        "x/mig_high": mig.high,
        "x/mig_chance": mig.chance,
    }
    broken = build_report({"mig": ub.Score(value=np.nan, low=0.0, high=np.inf)})
    assert dict(numbers(broken, "")) == {"mig_low": 0.0}


def test_tensorboard_reads_the_numbers_back(report, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        log_report(report, writer, step=3)
        log_report(report, writer, step=4)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert set(events.Tags()["scalars"]) == set(dict(numbers(report)))
    for name, value in numbers(report):
        assert [(event.step, event.value) for event in events.Scalars(name)] == [
            (3, pytest.approx(value, rel=1e-6)),
            (4, pytest.approx(value, rel=1e-6)),
        ]
    (tag,) = events.Tags()["tensors"]
    assert tag == "unbraid/report/text_summary"
    assert "dci_linear.completeness" in events.Tensors(tag)[0].tensor_proto.string_val[0].decode()


@pytest.mark.slow
def test_mlflow_reads_numbers_and_page_back(report, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with pytest.raises(ValueError, match="to='mlflow' needs an active run; log within"):
            log_report(report, "mlflow")
        with mlflow.start_run() as run:
            log_report(report, "mlflow", step=2)
        assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(dict(numbers(report)))
        (history,) = mlflow.MlflowClient().get_metric_history(run.info.run_id, "unbraid/mig")
        page = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/unbraid/report_2.html")
    finally:
        mlflow.set_tracking_uri(before)
    assert history.step == 2
    assert "</html>" in page


@pytest.fixture
def wandb(monkeypatch):
    """A double with the three names that are used: ``run``, ``Html`` and ``run.log``."""
    logged = []
    run = SimpleNamespace(log=lambda content, step=None: logged.append((content, step)))
    double = SimpleNamespace(run=run, Html=lambda text, *, inject: ("html", text, inject), logged=logged)
    monkeypatch.setitem(sys.modules, "wandb", double)
    return double


def test_wandb_gets_numbers_and_page(report, wandb):
    log_report(report, "wandb", step=5)
    log_report(report, wandb.run, step=6, page=False)
    (first, step), (second, other) = wandb.logged
    assert (step, other) == (5, 6)
    kind, text, inject = first.pop("unbraid/report")
    assert (kind, inject) == ("html", False)
    assert "</html>" in text
    assert first == second == dict(numbers(report))


def test_wandb_without_a_run_says_so(report, wandb):
    wandb.run = None
    with pytest.raises(ValueError, match=r"to='wandb' needs a run; call wandb.init\(\) first"):
        log_report(report, "wandb")


def test_an_unknown_tracker_is_refused(report):
    with pytest.raises(ValueError, match="to must be one of mlflow, wandb, got 'mlfow'; did you mean 'mlflow'"):
        log_report(report, "mlfow")
    with pytest.raises(
        TypeError, match="to must be 'mlflow', 'wandb', a wandb run or a SummaryWriter, got an object of"
    ):
        log_report(report, 3)


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_missing_package_is_a_sentence_with_its_cure(report, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=rf"needs {name}, .*\[{name}\]"):
        log_report(report, name)
