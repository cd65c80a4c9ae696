"""``unbraid study``: what is printed, written and refused."""

import csv
import io
import json
import re

import numpy as np
import pytest

from helpers.small import run_cli
from unbraid import Representation
from unbraid.cli import main
from unbraid.representation.files import save
from unbraid.study import ready_studies

pytestmark = pytest.mark.slow


def call(capsys, *arguments):
    return run_cli(capsys, "study", *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve representations, better and worse ones, and a study of them; one file has factors of its own names."""
    folder = tmp_path_factory.mktemp("given")
    lines = ["file,dataset,family,hyperparameter,seed"]
    for family, mix in (("clean", 0.0), ("mixed", 0.6)):
        for noise in (0.2, 0.6, 1.5):
            for seed in (0, 1):
                rng = np.random.default_rng([seed, int(10 * noise), int(10 * mix)])
                factors = rng.integers(0, 4, (200, 2))
                codes = factors @ np.array([[1, mix], [mix, 1]]) + noise * rng.normal(size=(200, 2))
                name = f"{family}{noise}{seed}.npz"
                save(Representation(codes, factors, names=["x", "y"]), folder / name)
                lines.append(f"{name},dots,{family},{noise},{seed}")
    (folder / "index.csv").write_text("\n".join(lines))
    (folder / "study.yaml").write_text(
        f"name: dots\nrepresentations: {{folder: {folder}, index: index.csv}}\n"
        "scores: {metrics: [mig, sap, irs]}\n"
        "tasks:\n  - {tasks: [factors, position_cartesian], predictors: [linear]}\n"
        "agreement: {methods: [spearman], rows: 200}\n"
    )
    return folder


@pytest.fixture(scope="module")
def store(folder):
    """The store of that study, run."""
    with pytest.raises(SystemExit) as caught:
        main(["study", "run", str(folder / "study.yaml"), "--store", str(folder / "store"), "--workers", "1"])
    assert caught.value.code == 0
    return folder / "store"


def test_lists_what_comes_along(capsys):
    status, out, _ = call(capsys, "list")
    assert status == 0
    assert all(name in out for name in ready_studies())
    assert "1800" in out


def test_shows_a_file_that_can_be_run(capsys, tmp_path):
    _, out, _ = call(capsys, "show", "mini")
    (tmp_path / "mine.yaml").write_text(out)
    assert call(capsys, "show", tmp_path / "mine.yaml")[1] == out


def test_lists_tasks_and_predictors(capsys):
    status, out, err = call(capsys, "tasks")
    assert status == 0
    assert "position_polar" in out
    assert "boosting" in err


def test_status_counts_what_is_done(capsys, store):
    status, out, _ = call(capsys, "status", "--store", store)
    assert status == 0
    words = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert words["scores"] == ["36", "36", "0", "0"]
    assert words["tasks"] == ["24", "24", "0", "0"]
    assert words["agreement"] == ["12", "12", "0", "0"]
    _, out, _ = call(capsys, "status", "--store", store, "--json", "-")
    assert json.loads(out)["parts"]["models"] == {"wanted": 12, "done": 12, "failed": 0, "missing": 0}


def test_running_again_says_that_there_is_nothing_to_do(capsys, folder, store):
    status, _, err = call(capsys, "run", folder / "study.yaml", "--store", store)
    assert status == 0
    assert "To do: nothing;" in err


def test_table_is_csv_on_standard_output_or_in_a_file(capsys, store, tmp_path):
    _, out, _ = call(capsys, "table", "--store", store)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["kind"] for row in rows} == {"score", "task", "agreement"}
    call(capsys, "table", "--store", store, "--csv", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == out
    _, out, _ = call(capsys, "table", "--store", store, "--pivot")
    models = list(csv.DictReader(io.StringIO(out)))
    assert len(models) == 12
    assert float(models[0]["mig"]) >= 0
    _, same, err = call(capsys, "table", "--store", store, "--wide")
    assert same == out
    assert "--pivot" in err


def test_report_is_a_page_and_tables(capsys, store, tmp_path):
    status, _, err = call(
        capsys, "report", "--store", store, "--out", tmp_path / "r.html", "--tables", tmp_path / "tables"
    )
    assert status == 0
    assert "wrote" in err
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "mig" in page
    assert {path.suffix for path in (tmp_path / "tables").iterdir()} == {".csv", ".tex"}


def test_the_report_takes_single_factors(capsys, store, tmp_path):
    named = ["--store", store, "--out", tmp_path / "r.html", "--tables", tmp_path / "tables"]
    status, _, err = call(capsys, "report", *named, "--factors", "both=a+b")
    assert (status, "factors must be one of" in err) == (2, True)
    names = {line["row"] for line in _single_factors(capsys, named, "all")}
    assert any("[" in name for name in names)


def _single_factors(capsys, named, factors):
    assert call(capsys, "report", *named, "--factors", factors)[0] == 0
    return list(csv.DictReader(io.StringIO((named[-1] / "single_factors_pearson.csv").read_text())))


def test_clean_says_what_would_go_and_removes_it_only_on_yes(capsys, store):
    (store / "codes").mkdir()
    (store / "codes" / "left.npz").write_bytes(b"123")
    _, out, err = call(capsys, "clean", "--store", store)
    assert out.startswith("1 files (0.0 MB), 0 rows and 0 damaged shards")
    assert "--yes" in err
    assert (store / "codes" / "left.npz").exists()
    call(capsys, "clean", "--store", store, "--yes")
    assert not (store / "codes" / "left.npz").exists()
    assert call(capsys, "status", "--store", store)[1].count("36") >= 2


def test_failures_are_named_and_the_exit_status_tells(capsys, folder, tmp_path):
    text = (folder / "study.yaml").read_text().replace("[mig, sap, irs]", "[mig], rows: [200]")
    (tmp_path / "lost.yaml").write_text(text.replace("tasks: [factors,", "tasks: ['factor:z',"))
    status, out, _ = call(capsys, "run", tmp_path / "lost.yaml", "--store", tmp_path / "store", "--workers", "1")
    assert status == 1
    assert "12 failed when last tried, such as factor:z linear of clean" in out
    assert "must name one of the factors x, y" in out


def test_a_run_into_a_file_says_now_and_then_how_far_it_is(capsys, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid._base.progress.QUIET", 0.0)
    _, _, err = call(capsys, "run", folder / "study.yaml", "--store", tmp_path / "store", "--workers", "1")
    lines = err.splitlines()
    assert lines[0].startswith("To do: 0 models to train, 72 measurements")
    assert re.match(r"study dots: [01] of 18 steps", lines[1])  # twelve models to measure, six settings to compare
    assert lines[-1].startswith("next: ")


def test_failures_read_as_those_of_the_last_try(capsys, folder, tmp_path):
    text = (folder / "study.yaml").read_text().replace("tasks: [factors,", "tasks: ['factor:z',")
    (tmp_path / "lost.yaml").write_text(text)
    call(capsys, "run", tmp_path / "lost.yaml", "--store", tmp_path / "store", "--workers", "1")
    _, out, _ = call(capsys, "status", "--store", tmp_path / "store")
    assert "12 failed when last tried" in out
    assert out.endswith("The current or the next run tries failures again.\n")


def test_the_report_counts_the_numbers_that_the_run_announced(capsys, store, tmp_path):
    call(capsys, "report", "--store", store, "--out", tmp_path / "r.html", "--tables", tmp_path / "tables")
    runs = list(csv.DictReader(io.StringIO((tmp_path / "tables" / "runs.csv").read_text())))
    assert sum(int(run["measurements"]) for run in runs) == 72


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "minni", "--store", "s"], "study must be a file"),
        (["run", "thesis", "--store", "s"], "study 'thesis' is large; give --yes"),
        (["run", "mini", "--store", "nowhere://x"], "store 'nowhere://x' cannot be"),
        (["run", "mini", "--store", "s", "--workers", "0"], "workers must be"),
        (["run", "mini", "--store", "s", "--address", "h:1"], "address 'h:1' is of no use to the local engine"),
        (["status", "--store", "gone"], "store 'gone' is not there"),
        (["table", "--store", "gone"], "store 'gone' is not there"),
        (["report", "--store", "gone"], "store 'gone' is not there"),
        (["report", "--store", "gone", "--factors", "shape,=x"], "factors must be all, or names separated by commas"),
    ],
)
def test_bad_input_ends_with_2_and_a_sentence(capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    status, out, err = call(capsys, *arguments)
    assert (status, out) == (2, "")
    assert says in " ".join(err.split())
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_run_makes_the_plan_once_and_reads_the_store_before_and_after(capsys, folder, store, monkeypatch):
    from unbraid.study import Store
    from unbraid.study import run as running

    counts = {"plan": 0, "failures": 0}

    def counted(name, function):
        def call(*arguments):
            counts[name] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(running, "make_plan", counted("plan", running.make_plan))
    monkeypatch.setattr("unbraid.study.state.make_plan", counted("plan", running.make_plan))
    monkeypatch.setattr(Store, "failures", counted("failures", Store.failures))
    call(capsys, "run", folder / "study.yaml", "--store", store)
    assert counts == {"plan": 1, "failures": 2}


def test_earlier_keys_of_a_study_file_are_a_note(capsys, tmp_path):
    text = "name: s\ndata: [sprites_mini]\nmodels:\n  - {family: beta_vae, strengths: {beta: 4}}\n"
    (tmp_path / "s.yaml").write_text(text)
    status, out, err = call(capsys, "show", tmp_path / "s.yaml")
    assert (status, out) == (0, text)
    assert err.startswith("note: ")
    assert "strengths is now called" in err
