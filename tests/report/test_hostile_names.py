"""Names that are attacks, in every field of the pages that show names: no script of theirs runs, nothing is fetched."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import unbraid as ub
from helpers.study_tables import row, study, table
from unbraid.report import study_page
from unbraid.report.charts import ChartGroup, Series, line_chart, matrix_chart
from unbraid.report.figure import FigurePage, StudyFigure, render_figure_page, render_study_figures
from unbraid.report.grids import Grid, make_rows
from unbraid.reproduce import REPRODUCTIONS
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.run import Outcome, ReproductionRun
from unbraid.reproduce.status_page import render_status
from unbraid.similarity import similarities

pytestmark = pytest.mark.browser

#: Each sets a mark where it runs; the last fetches a picture.
EVIL = (
    "</script><script>window.hit=1</script>",
    "<img src=x onerror='window.hit=1'>",
    "\"'><svg onload=window.hit=1>",
    "<style>@import 'http://a.invalid/x'</style><img src=http://a.invalid/y>",
    "</title></textarea><iframe srcdoc='<script>parent.hit=1</script>'>",
)
KINDS = (
    *("score", "comparison", "similarity", "study", "manifold"),
    *("manifolds", "many", "probes", "sparse", "factors", "figures"),
    *("figure", "reproduction", "audit", "notebook"),
)


QUICK = {"n_jobs": 1, "progress": False, "nulls": False, "intervals": False}


def with_factors(found):
    """The table of a study with a row for each of two factors beside each score."""
    scores = found[found["name"] == "mig"].to_dict("records")
    parts = [
        row(one["model"], one["value"] + k, **{name: one[name] for name in ABOUT}, factor=EVIL[k])
        for one in scores
        for k in range(2)
    ]
    return pd.concat([found, table(parts)], ignore_index=True)


ABOUT = ("dataset", "family", "hyperparameter", "seed", "n_rows")


def wide(rng):
    """A report of more codes than a page draws, which are found by name."""
    factors = rng.integers(0, 3, (200, 2))
    codes = np.column_stack([factors, rng.standard_normal((200, 70))]) + 0.1 * rng.standard_normal((200, 72))
    names = [f"{EVIL[j % len(EVIL)]} {j}" for j in range(72)]
    labels = pd.DataFrame({EVIL[k]: factors[:, k] for k in range(2)})
    return ub.evaluate(ub.Representation(codes, labels, code_names=names), metrics="mig,r2", **QUICK)


def charts():
    """A group of charts of each kind."""
    series = Series(name=EVIL[0], x=np.arange(3.0), y=np.arange(3.0), tips=EVIL[:3], note=EVIL[1])
    words = {"caption": EVIL[1], "description": EVIL[2], "x_label": EVIL[3], "y_label": EVIL[4]}
    line = line_chart([series], title=EVIL[0], x_marks=[(1.0, EVIL[0])], levels=[(1.0, EVIL[1])], **words)
    matrix = matrix_chart(np.eye(3), title=EVIL[2], caption=EVIL[3], top=1.0)
    return ChartGroup(title=EVIL[0], caption=EVIL[1], charts=[line, matrix], left_out=EVIL[2])


def figures():
    """Figures of a published study."""
    words = dict(zip(("name", "title", "paper", "lede"), EVIL, strict=False))
    grid = Grid(
        key="k",
        title=EVIL[0],
        caption=EVIL[1],
        corner=EVIL[2],
        columns=EVIL[:3],
        rows=make_rows(np.eye(3), EVIL[:3], top=1.0, remarks=EVIL[:3]),
        left_out=EVIL[3],
    )
    drawn = StudyFigure(
        number=EVIL[0], caption=EVIL[1], maps=[grid], groups=[charts()], legend=[(0, EVIL[2])], has_lines=True
    )
    empty = StudyFigure(number=EVIL[1], caption=EVIL[2], missing=EVIL[3])
    return render_study_figures([drawn, empty], facts=[(EVIL[0], EVIL[1])], **words)


def figure():
    """The page of one figure."""
    words = dict(zip(("name", "title", "paper", "lede"), EVIL, strict=False))
    lists = {"facts": [EVIL[:2]], "header": EVIL[:4], "rows": [EVIL[:4]], "groups": [charts()], "notes": EVIL}
    return render_figure_page(FigurePage(**words, **lists))


def reproduction():
    """The page of results, as made from files that somebody kept."""
    checks = [
        Check(what=EVIL[0], ours=1.0, paper=2.0, truth=1.0, tolerance=0.1),
        Check(what=EVIL[1], ours=None, paper=1.0),
    ]
    checks.append(Check(what=EVIL[2], ours=0.5, claim=EVIL[3], at_least=0.6))
    parts = [Part(where=EVIL[0], checks=checks, reason=EVIL[1])]
    run = ReproductionRun(name=EVIL[2], mode="own", reason=EVIL[3], commit=EVIL[0], machine=EVIL[1])
    known = REPRODUCTIONS["iwo-table1"]
    return render_status(
        [Outcome(reproduction=known, run=run, parts=parts), Outcome(reproduction=known, run=run, parts=())]
    )


def audit():
    """An audit of somebody's metric."""

    def theirs(codes, factors):
        return 0.5

    theirs.__doc__ = EVIL[1]
    sizes = {"n_seeds": 2, "n_rows": 200, "n_jobs": 1, "progress": False}
    return ub.audit.run(theirs, name=EVIL[0], measures="modularity", cases="independent/identity", **sizes)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (200, 3))
    labels = pd.DataFrame({EVIL[k]: np.array(EVIL)[factors[:, k]] for k in range(3)})
    codes = np.column_stack([factors + 0.2 * rng.standard_normal((200, 3)), rng.standard_normal(200)])
    rep = ub.Representation(codes, labels, code_names=EVIL[:4], blocks={EVIL[0]: [0, 1], EVIL[1]: [2, 3]})
    metrics = "mig,dci_linear,r2"
    reports = {name: ub.evaluate(rep, metrics=metrics, name=name, n_jobs=1, progress=False) for name in EVIL[:2]}
    reports[EVIL[0]].to_html(folder / "score.html")
    ub.compare(reports).to_html(folder / "comparison.html")
    similarities({name: codes + k for k, name in enumerate(EVIL[:3])}, measures="cka", progress=False).to_html(
        folder / "similarity.html"
    )
    trained = study(families=EVIL[:2], datasets=EVIL[2:4])
    (folder / "study.html").write_text(study_page(trained, name=EVIL[0], about=EVIL[4]), encoding="utf-8")
    (folder / "factors.html").write_text(study_page(with_factors(trained), name="s", factors=True), encoding="utf-8")
    wide(rng).to_html(folder / "many.html")
    ub.evaluate(rep, metrics="sparse_probe,one_vs_rest,best_single", **QUICK).to_html(folder / "probes.html")
    few = scipy.sparse.csr_matrix(np.where(rng.random((200, 4)) < 0.5, codes, 0.0))
    ub.evaluate(few, labels, metrics="r2,best_single", **QUICK).to_html(folder / "sparse.html")
    for name, make in {"figures": figures, "figure": figure, "reproduction": reproduction}.items():
        (folder / f"{name}.html").write_text(make(), encoding="utf-8")
    (folder / "notebook.html").write_text(f"<meta charset=utf-8>{reports[EVIL[0]]._repr_html_()}", encoding="utf-8")
    audit().to_html(folder / "audit.html")
    torch = pytest.importorskip("torch")
    partition = {EVIL[0]: [0, 1], EVIL[1]: [2]}
    found = ub.manifold.analyze(torch.nn.Linear(3, 4), latent_dim=3, n_samples=10, partition=partition)
    found.to_html(folder / "manifold.html")
    both = ub.manifold.compare(
        *(torch.nn.Linear(3, 4) for _ in range(2)),
        latent_dim=3,
        n_samples=10,
        partition_a=partition,
        partition_b=partition,
    )
    both.to_html(folder / "manifolds.html")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_names_run_nothing_and_fetch_nothing(kind, pages, visit):
    path = pages / f"{kind}.html"
    assert "hit=1" in path.read_text(encoding="utf-8")
    page = visit(path.as_uri())
    for heading in page.locator("th button").all()[:4]:
        heading.click()
    for field in page.locator("input[type=search]").all():
        field.fill("hit")
    assert page.evaluate("window.hit") is None
    assert page.locator("iframe").count() == 0
