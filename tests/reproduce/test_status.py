"""Every reproduction at once: what is kept, what is shown, and that the page in the docs is what was kept."""

import json
import math
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path

import pytest

from helpers.small import run_cli
from unbraid.reproduce import REPRODUCTIONS, Check, Colour, Part, Reproduction, StudyTables, iwo_table1
from unbraid.reproduce.digit_flows.flows import DigitsFlow
from unbraid.reproduce.flows_of_digits import WaveletSet
from unbraid.reproduce.result import Number, Result, Table
from unbraid.reproduce.run import ReproductionRun, judge, load_run, mode_of, reason_of, run_all, status_page
from unbraid.reproduce.status_page import opening, render_status

DOCS = Path(__file__).resolve().parents[2] / "docs"
KEPT = DOCS / "reproductions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Result):
    number: Number
    pair: tuple[int, int] = (1, 2)

    def tables(self):
        return [Table(header=["what", "ours"], rows=[["it", self.number]])]


def toy(name="toy", ours=0.5, **more):
    def run(*, quick=False, data=None, progress=None) -> Toy:
        if ours is None:
            raise ValueError("torch is not installed.")
        return Toy(number=Number(ours=ours if not quick else ours / 2, paper=0.5))

    def checks(result):
        return [Part(where="Table 1", checks=[Check.of("it", result.number, tolerance=0.0)], reason="Too short.")]

    known = {"name": name, "title": "A toy", "paper": "Nobody (1999)", "cost": "none", "run": run, "checks": checks}
    return Reproduction(**known | {"quick": {"quick": True}} | more)


def kept_outcomes():
    return [judge(item, load_run(KEPT, item)) for item in REPRODUCTIONS.values()]


def test_the_page_in_the_docs_is_what_the_kept_results_say():
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert page == status_page(kept_outcomes()), (
        "run `unbraid reproduce --all --remake --json docs/reproductions --page docs/reproduction.md`"
    )


def test_every_kept_result_is_of_a_reproduction_and_names_no_folder():
    names = {path.stem for path in KEPT.glob("*.json")}
    assert names <= set(REPRODUCTIONS)
    assert len(names) >= 7
    assert not [path for path in KEPT.glob("*.json") if '"/' in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_kept_results_are_written_as_they_were_read(name, tmp_path):
    run = load_run(KEPT, REPRODUCTIONS[name])
    assert run.save(tmp_path).read_text(encoding="utf-8") == (KEPT / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["torus", "beta-vae-spectrum", "dci-es-table1", "dci-es-images"])
def test_kept_figures_can_be_drawn_from_what_is_kept(name, tmp_path):
    html = load_run(KEPT, REPRODUCTIONS[name]).result.draw(tmp_path / "figure.html").read_text(encoding="utf-8")
    assert "<svg" in html


@pytest.mark.parametrize("name", ["moons", "digits-flows", "core-latents", "dependent-mnist"])
def test_figures_that_need_more_than_is_kept_say_so(name, tmp_path):
    with pytest.raises(ValueError, match="cannot be drawn from a result read from JSON: run the reproduction again"):
        load_run(KEPT, REPRODUCTIONS[name]).result.draw(tmp_path / "figure.html")


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_kept_results_can_be_printed(name):
    result = load_run(KEPT, REPRODUCTIONS[name]).result
    for table in result.tables():
        header, rows = table.text
        assert rows
        assert {len(row) for row in rows} == {len(header)}


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_every_reproduction_is_judged_and_gives_reasons_where_it_differs(name):
    run = load_run(KEPT, REPRODUCTIONS[name])
    if run.result is None:
        assert run.reason
        return
    if isinstance(run.result, StudyTables) and run.result.scale == "mini":  # a study in small is not judged
        assert judge(REPRODUCTIONS[name], run).parts == ()
        known = tuple(replace(one, tolerance=0.1) for one in run.result.correlations)
        run = replace(run, result=replace(run.result, scale="full", correlations=known))
    outcome = judge(REPRODUCTIONS[name], run)
    assert outcome.parts, f"{name} has no rules for when it agrees: give its row `checks`"
    assert any(part.checks for part in outcome.parts)
    for part in outcome.parts:
        assert part.reason or part.surrogate, (
            f"{name}, {part.where} needs a reason beside its rules, for when it is not green"
        )
        assert len({check.what for check in part.checks}) == len(part.checks)


def with_numbers(value, change):
    """Return a result with every number of ours changed."""
    if isinstance(value, Number):
        return replace(value, ours=change(value.ours))
    if isinstance(value, dict):
        return {name: with_numbers(item, change) for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(with_numbers(item, change) for item in value)
    if is_dataclass(value):
        return replace(value, **{one.name: with_numbers(getattr(value, one.name), change) for one in fields(value)})
    return value


# Those whose rules read typed numbers; knees are read off spectra, and studies in small are not judged.
LEFT_OUT = ("beta-vae-spectrum", "core-latents", "thesis-study", "iwo-study")
WITH_NUMBERS = [name for name in REPRODUCTIONS if name not in LEFT_OUT]


@pytest.mark.parametrize("name", WITH_NUMBERS)
@pytest.mark.parametrize("change", [lambda ours: ours and ours - 1000, lambda ours: None], ids=["far", "missing"])
def test_colours_move_with_the_numbers(name, change):
    """Shift every number of ours far away, or take it away: fewer may agree, and no table may stay green."""
    run = load_run(KEPT, REPRODUCTIONS[name])
    moved = replace(run, result=with_numbers(run.result, change))
    before, after = (judge(REPRODUCTIONS[name], one).parts for one in (run, moved))
    agree = [sum(part.n_agree for part in parts) for parts in (before, after)]
    assert agree[1] < agree[0]
    if change(1.0) is None:
        assert agree[1] == 0
    status_page([judge(REPRODUCTIONS[name], moved)])
    render_status([judge(REPRODUCTIONS[name], moved)])


@pytest.mark.parametrize(("side", "n_numbers"), [(28, 2), (8, 0)])
def test_flows_of_small_digits_are_held_against_words_and_not_numbers(side, n_numbers):
    correlation = {"GLOW-like": (1.8, 1.9), "GIN": (1.5, None), "cINN": (1.7, None), "wavelet": (0.6, 0.5)}
    flows = tuple(
        DigitsFlow(
            name=name,
            total_correlation=Number(ours=ours, paper=paper),
            latent_entropy=(),
            mean_pairwise_mutual_information=None,
            held_out_nats_per_pixel=None,
            training_seconds=0.0,
        )
        for name, (ours, paper) in correlation.items()
    )
    sets = tuple(
        WaveletSet(name=name, n_latents=9, entropy=Number(ours=entropy), mutual_information=Number(ours=shared))
        for name, entropy, shared in (("C", 3, 3), ("M", 1, 2), ("D", 0, 1))
    )
    kept = load_run(KEPT, REPRODUCTIONS["digits-flows"]).result
    result = replace(
        kept,
        side=side,
        flows=flows,
        sets=sets,
        spectra_gap=replace(kept.spectra_gap, ours=0.1),
        deviation_correlation=replace(kept.deviation_correlation, ours=0.9),
    )
    parts = REPRODUCTIONS["digits-flows"].checks(result)
    assert (parts[0].n_printed, len(parts[0].checks)) == (6, 4 + n_numbers)
    assert parts[0].colour is (Colour.GREEN if n_numbers else Colour.AMBER)  # two numbers were not compared
    assert [part.colour for part in parts[1:]] == [Colour.GREEN, Colour.RED]


def test_runs_are_kept_as_they_end_and_read_back_the_same(tmp_path):
    runs = list(run_all([toy(), toy("other", None)], folder=tmp_path))
    assert [run.reason for run in runs] == ["", "torch is not installed."]
    assert [load_run(tmp_path, toy(run.name)) for run in runs] == runs
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.json", "toy.json"]
    assert runs[0].result == Toy(number=Number(ours=0.5, paper=0.5))


def test_quick_is_quick_and_missing_data_is_no_failure():
    (quick,) = run_all([toy()], quick=True)
    assert (quick.mode, quick.result.number.ours) == ("quick", 0.25)
    (missing,) = run_all([toy(needs="a folder with MNIST")])
    assert (missing.result, missing.reason) == (None, "needs a folder with MNIST")
    assert judge(toy(), missing).colour is Colour.GREY
    (given,) = run_all([toy(needs="a folder with MNIST")], data="mnist")
    assert given.result is not None
    (small,) = run_all([toy(needs="a folder with MNIST")], quick=True)
    assert small.result is not None  # on data that comes along
    (also,) = run_all([toy(quick_needs="a folder with MNIST")], quick=True)
    assert also.reason == "needs a folder with MNIST"


def test_what_is_not_finite_is_kept_as_null_and_differs(tmp_path):
    (run,) = run_all([toy(ours=math.nan)], folder=tmp_path)
    assert run.result.number.ours is None
    assert load_run(tmp_path, toy()) == run
    assert judge(toy(), run).colour is Colour.RED


def test_the_page_shows_colour_reason_and_numbers():
    good, bad, none = (judge(toy(name, ours), next(run_all([toy(name, ours)]))) for name, ours in TOYS)
    page = status_page([good, bad, none])
    assert "| 🟢 green | [`a`](#a) | Table 1 | 1 | 1 | 1 |  |" in page
    assert "| 🔴 red | [`b`](#b) | Table 1 | 1 | 1 | 0 | Too short. |" in page
    assert "| ⚪ grey | [`c`](#c) | all | | 0 | | Not run: torch is not installed. |" in page
    assert "| it | 0.700 | 0.500 |  | ±0 | **differs** |" in page
    assert opening([good, bad, none]) == (
        "Of 2 tables and figures, 1 agree in every printed number and 1 agree in fewer. Not run: c."
    )
    html = render_status([good, bad, none])
    assert html.count('class="light red"') == 2
    assert "Too short." in html


TOYS = (("a", 0.5), ("b", 0.7), ("c", None))


def test_the_command_makes_both_pages_again_from_what_was_kept(tmp_path, capsys):
    page, report = tmp_path / "status.md", tmp_path / "status.html"
    code, out, err = run_cli(
        capsys, "reproduce", "--all", "--remake", "--json", KEPT, "--page", page, "--report", report
    )
    assert code == 0
    assert page.read_text(encoding="utf-8") == (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert err.splitlines() == [f"wrote {page}", f"wrote {report}"]
    assert out.split()[:3] == ["colour", "name", "table"]


def test_the_command_runs_what_it_is_told_to(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(REPRODUCTIONS, "moons", toy("moons"))
    folder = tmp_path / "results"
    code, out, err = run_cli(
        capsys, "reproduce", "--all", "--quick", "--only", "moons,dependent-mnist", "--json", folder
    )
    assert code == 0
    assert "grey: moons. Quick settings" in err
    assert "grey: dependent-mnist. Not run: needs a folder with MNIST in IDX format (--data)." in err
    assert [line.split()[:2] for line in out.splitlines()[1:] if line[:1].strip()] == [
        ["grey", "dependent-mnist"],
        ["grey", "moons"],
    ]
    assert json.loads((folder / "moons.json").read_text())["result"]["number"]["ours"] == 0.25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "moon"), "only must be one of"),
        (("--only", ","), "only must name at least one reproduction, got none."),
        (("--remake",), "remake needs the folder with the kept results"),
        (("--remake", "--json", "nowhere"), "json must be the folder with the kept results"),
        (("--page", "nowhere/status.md"), "page 'nowhere/status.md' cannot be written"),
        (("--report", "nowhere/status.html"), "report 'nowhere/status.html' cannot be written"),
        (("--json", __file__), f"json {__file__!r} cannot be a folder to write to"),
    ],
)
def test_bad_arguments_stop_before_any_work(capsys, arguments, message):
    code, out, err = run_cli(capsys, "reproduce", "--all", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"unbraid: {message}")
    assert len(err.splitlines()) == 1


def test_damaged_results_are_refused_in_a_sentence(tmp_path, capsys):
    (tmp_path / "moons.json").write_text("{}")
    code, _, err = run_cli(capsys, "reproduce", "--all", "--only", "moons", "--remake", "--json", tmp_path)
    assert code == 2
    assert "does not hold a run" in err


def test_quick_results_are_shown_and_stand_for_nothing():
    (quick,) = run_all([toy(ours=1.0)], quick=True)
    outcome = judge(toy(), quick)
    assert outcome.colour is Colour.GREY
    assert [(part.n_printed, part.n_attempted, part.n_agree) for part in outcome.parts] == [(1, 0, 1)]
    assert (
        "| ⚪ grey | [`toy`](#toy) | Table 1 | 1 | 0 |  | Measured at other settings than the full ones"
        in status_page([outcome])
    )


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_kept_result_counts_or_is_a_surrogate_or_was_not_measured(name):
    outcome = judge(REPRODUCTIONS[name], load_run(KEPT, REPRODUCTIONS[name]))
    for part in outcome.parts:
        if part.colour is Colour.GREY and part.n_printed:
            assert part.surrogate or (part.reason and not part.checks), part.where


def test_a_surrogate_says_so_at_full_settings_and_stands_for_nothing():
    part = Part(where="T", checks=[Check(what="x", ours=1, paper=1, tolerance=0.1)], surrogate="Sprites, not photos.")
    assert (part.colour, part.n_attempted, part.n_agree) == (Colour.GREY, 0, 1)
    assert reason_of(part) == "Sprites, not photos. 1 of 1 agree, which does not count."


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        ({}, "full"),
        ({"data": "mnist"}, "full"),
        ({"quick": True}, "quick"),
        ({"quick": True, "data": "mnist", "progress": False}, "quick"),
        ({"quick": 3}, "own"),
    ],
)
def test_settings_are_named_by_what_they_are(arguments, mode):
    assert mode_of(toy(), arguments) == mode


def test_the_size_for_one_gpu_is_named_and_counts():
    item = toy(gpu={"quick": 3})
    assert mode_of(item, {"quick": 3, "data": "mnist"}) == "gpu"
    assert mode_of(toy(), {"quick": 3}) == "own"
    result = Toy(number=Number(ours=0.5, paper=0.5))
    outcome = judge(item, ReproductionRun(name="toy", mode="gpu", result=result))
    assert outcome.colour is Colour.GREEN
    assert "The size for one GPU." in status_page([outcome])


def test_full_settings_without_the_data_they_need_are_not_full():
    assert mode_of(toy(needs="MNIST"), {}) == "own"
    assert mode_of(toy(needs="MNIST"), {"data": "mnist"}) == "full"


def test_runs_know_their_source_and_machine(tmp_path):
    (run,) = run_all([toy()], folder=tmp_path)
    assert "cores" in run.machine
    assert replace(run, commit="abc", machine="one").kept()["commit"] == "abc"
    assert "commit" not in replace(run, commit="", machine="").kept()


def test_nothing_is_counted_twice():
    """No two reproductions have the same table of the same paper, and no table has a number twice."""
    found = []
    for outcome in kept_outcomes():
        paper = outcome.reproduction.paper.partition(",")[0]
        found += [(paper, part.where, check.what) for part in outcome.parts for check in part.compared]
    assert len(found) == len(set(found))


@pytest.mark.slow
def test_a_table_writes_the_same_kind_of_page(tmp_path, capsys):
    path = tmp_path / "table1.html"
    code, _, err = run_cli(
        capsys, "reproduce", "iwo-table1", "--rows", 1, "--seeds", 1, "--probes", "none", "--report", path
    )
    html = path.read_text(encoding="utf-8")
    assert code == 0
    assert f"wrote {path}" in err
    assert "Ours beside the paper" in html
    value = iwo_table1([1], n_seeds=1, probes="none").rows[0].scores["iwo"].ours
    assert f"ours {value!r}" in html
