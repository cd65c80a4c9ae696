"""Names that are attacks, in every field of the pages that show names: no script of theirs runs, nothing is fetched."""

import numpy as np
import pandas as pd
import pytest

import unbraid as ub
from helpers.study_tables import study
from unbraid.report import study_page
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
KINDS = ("score", "comparison", "similarity", "study", "manifold")


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
    table = study(families=EVIL[:2], datasets=EVIL[2:4])
    (folder / "study.html").write_text(study_page(table, name=EVIL[0]), encoding="utf-8")
    torch = pytest.importorskip("torch")
    partition = {EVIL[0]: [0, 1], EVIL[1]: [2]}
    found = ub.manifold.analyze(torch.nn.Linear(3, 4), latent_dim=3, n_samples=10, partition=partition)
    found.to_html(folder / "manifold.html")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_names_run_nothing_and_fetch_nothing(kind, pages, visit):
    path = pages / f"{kind}.html"
    assert "hit=1" in path.read_text(encoding="utf-8")
    page = visit(path.as_uri())
    for heading in page.locator("th button").all()[:4]:
        heading.click()
    assert page.evaluate("window.hit") is None
    assert page.locator("iframe").count() == 0
