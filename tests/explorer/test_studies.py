"""Studies and training runs in the explorer, finished and going on."""

import json

import numpy as np
import pytest

import unbraid as ub
from helpers.blobs import blob_representation, write_blobs
from helpers.exploring import nameless, pixels, settled
from helpers.inline_engine import InlineEngine
from helpers.watching import Watched
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.explorer.studies import StudyView
from unbraid.study import Store, make_plan, parse_study, status
from unbraid.study.run import run_jobs
from unbraid.study.state import keep_study

STUDY = """
name: given
about: Four files of codes.
representations: {{folder: {folder}, index: index.csv}}
scores: {{metrics: [mig, sap], rows: [200], intervals: false, nulls: false}}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A study of four files, of which one cannot be read."""
    folder = tmp_path_factory.mktemp("study")
    lines = ["file,family,hyperparameter,seed"]
    for number, noise in enumerate((0.0, 0.5, 1.0)):
        rep = blob_representation(200, seed=0)
        moved = rep.codes + noise * np.random.default_rng(number).standard_normal(rep.codes.shape)
        ub.save(ub.Representation(moved, rep.factors), folder / f"{number}.npz")
        lines.append(f"{number}.npz,noisy,{noise},0")
    (folder / "bad.npz").write_bytes(b"nothing")
    lines.append("bad.npz,broken,2,0")
    (folder / "index.csv").write_text("\n".join(lines))
    place = Store(folder / "store")
    plan = make_plan(parse_study(STUDY.format(folder=folder)))
    keep_study(plan.study, place)
    run_jobs(status(place, plan), InlineEngine(), progress=False)
    return folder / "store"


def test_rows_of_the_table_are_models_with_their_scores(store):
    found = StudyView(Store(store)).about()
    assert found["scores"] == ["mig", "sap"]
    assert [row["hyperparameter"] for row in found["rows"]] == [0, 0.5, 1, 2]
    migs = [row["scores"][0] for row in found["rows"]]
    assert migs[3] is None
    assert all(isinstance(value, float) for value in migs[:3])
    assert found["parts"]["models"] == {"wanted": 4, "done": 3, "failed": 1, "missing": 0}
    assert found["failures"][0]["count"] == 1
    assert found["rows"][3]["failure"]


def test_a_model_is_opened_from_its_row(store):
    session = open_session([str(store)], OpeningOptions())
    assert session.subject("m1").about()["n_rows"] == 200
    with pytest.raises(ValueError, match=r"bad\.npz"):
        session.subject("m3")


@pytest.mark.browser
@pytest.mark.slow
def test_the_table_sorts_and_a_point_opens_its_model(explore, serve, store):
    page = explore(serve(str(store)))
    page.wait_for_selector(".runs tbody tr")
    settled(page)
    page.get_by_role("button", name="mig").click()
    values = page.locator(".runs tbody td:nth-child(6)").all_inner_texts()
    assert values[:3] == sorted(values[:3], reverse=True)
    assert page.locator(".runs [aria-sort=descending]").inner_text().startswith("mig")
    assert "bad.npz" in page.inner_text(".failure")
    page.locator(".chart canvas").focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert "noisy 0 seed 0" in page.inner_text(".card")
    assert nameless(page) == []
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Enter")
    page.wait_for_selector(".look .scatter")
    assert page.input_value("#model") == "m0"


@pytest.mark.browser
@pytest.mark.slow
def test_two_models_share_a_brush_and_their_sliders(explore, serve, tmp_path):
    model, codes = write_blobs(tmp_path)
    (tmp_path / "b").mkdir()
    _, other = write_blobs(tmp_path / "b", seed=0)
    page = explore(serve(codes, other, decoder=f"{model}:decoder"))
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".compare .slider.factor")
    settled(page)
    points = ".compare .scatter canvas:nth-of-type(2)"
    before = [pixels(page, points, side) for side in range(2)]
    box = page.locator(".compare .scatter").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=4)
    page.mouse.up()
    settled(page)
    assert all(a != b for a, b in zip(before, [pixels(page, points, side) for side in range(2)], strict=True))
    before = [pixels(page, ".compare .large", side) for side in range(2)]
    codes = page.locator(".compare .slider.code input").evaluate_all("(found) => found.map((one) => one.value)")
    page.locator(".compare .slider.factor input").first.focus()
    for _ in range(15):
        page.keyboard.press("ArrowRight")
    settled(page)
    assert codes != page.locator(".compare .slider.code input").evaluate_all("(found) => found.map((one) => one.value)")
    assert all(
        a != b for a, b in zip(before, [pixels(page, ".compare .large", side) for side in range(2)], strict=True)
    )
    moved = [pixels(page, ".compare .large", side) for side in range(2)]
    page.locator(".compare .scatter canvas[tabindex]").first.focus()
    page.keyboard.press("Enter")  # the row nearest to the middle, in both
    settled(page)
    assert all(a != b for a, b in zip(moved, [pixels(page, ".compare .large", side) for side in range(2)], strict=True))
    assert nameless(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A tiny model that was trained while it was watched, and what was seen."""
    folder = tmp_path_factory.mktemp("run") / "tiny"
    watched = Watched("train", "--preset", "tiny", "--steps", 120, "--codes", 4, "--out", folder)
    seen = {
        "first": json.loads(watched.wait_for("run", lambda found: json.loads(found)["state"] == "there")),
        "portrait": watched.wait_for("portrait?id=m0", lambda found: True),
        "reconstructions": watched.wait_for("reconstructions?id=m0", lambda found: True),
    }
    _, errors = watched.process.communicate(timeout=300)
    assert watched.process.returncode == 0, errors
    return folder, seen


@pytest.mark.slow
def test_training_shows_losses_and_pictures_as_they_come(run_folder):
    _, seen = run_folder
    (member,) = seen["first"]["members"]
    assert member["diverged"] is None
    assert len(member["losses"]["loss"]) == len(seen["first"]["steps"]) >= 1
    assert seen["first"]["steps"][-1] < 120
    assert seen["portrait"].startswith(b"\x89PNG")
    assert seen["reconstructions"].startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "ensemble.pt"])
def test_a_run_folder_or_its_checkpoint_has_codes_decoder_and_pictures(run_folder, name):
    folder, _ = run_folder
    session = open_session([str(folder / name)], OpeningOptions())
    subject = session.subject("m0")
    about = subject.about()
    assert about["pictures"]["origin"] == "data"
    assert about["decoder"]["n_codes"] == len(about["codes"]) == 4
    picture = subject.picture(5)[..., 0] / 255
    truth = ub.data.load_dataset("sprites_mini").observations(np.array([5]))[0, 0]  # all rows, in order
    assert np.abs(picture - truth).max() < 1 / 255
    assert session.run.about()["steps"][-1] == 100


@pytest.mark.slow
@pytest.mark.browser
def test_the_page_of_a_run_draws_losses_and_portraits(explore, serve, run_folder):
    page = explore(serve(str(run_folder[0])))
    page.wait_for_selector(".look .scatter")
    page.get_by_role("button", name="Training").click()
    page.wait_for_selector("figure .portrait")
    settled(page)
    assert page.locator(".portraits img").count() == 2
    assert nameless(page) == []
    blank = page.evaluate("document.createElement('canvas').toDataURL().length")
    assert page.eval_on_selector(".chart canvas", "(canvas) => canvas.toDataURL().length") > blank


@pytest.mark.slow
def test_a_study_that_runs_shows_its_jobs(tmp_path):
    (tmp_path / "tiny.yaml").write_text(
        "name: tiny\ndata: [sprites_mini]\nrows: 200\n"
        "models: [{family: beta_vae, hyperparameters: {beta: [1, 4]}}]\nseeds: 1\n"
        "training: {n_steps: 20, n_codes: 3, width: 4, batch: 8, learning_rate: 1e-3, ensemble_size: 2}\n"
        "scores: {metrics: [mig], rows: [200]}\n"
    )
    watched = Watched("study", "run", tmp_path / "tiny.yaml", "--store", tmp_path / "store", "--workers", 1)
    found = json.loads(watched.wait_for("study", lambda found: True))
    assert found["parts"]["models"]["wanted"] == 2
    assert len(found["rows"]) == 2
    _, errors = watched.process.communicate(timeout=300)
    assert watched.process.returncode == 0, errors
    session = open_session([str(tmp_path / "store")], OpeningOptions())
    subject = session.subject("m1")
    assert subject.about()["decoder"]["n_codes"] == 3
    assert subject.portrait().ndim == 3
    assert session.study.about()["complete"]
