"""Names that are attacks, in every field of the pages that show names: no script of theirs runs, nothing is fetched."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import unbraid as ub
from helpers.study_tables import row, study, table
from unbraid.report import study_page
from unbraid.report.figure import render_study_figures
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


def figures():
    """Figures of a published study."""
    words = dict(zip(("name", "title", "paper", "lede"), EVIL, strict=False))
    return render_study_figures([], facts=[(EVIL[0], EVIL[1])], **words)


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
    (folder / "figures.html").write_text(figures(), encoding="utf-8")
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
