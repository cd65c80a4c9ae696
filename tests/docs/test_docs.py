"""The documentation must agree with the table of metrics, and all of its Python must run."""

import inspect
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

from unbraid import list_metrics
from unbraid.metrics import METRICS, Invariance, Metric

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FAMILIES = list(dict.fromkeys(metric.family for metric in METRICS.values()))
#: Pages of metrics that need several models, and so are no rows of the table.
OF_SEVERAL_MODELS = {"udr"}
HEADINGS = [
    "Definition",
    "Range and direction",
    "What it measures",
    "What it needs",
    "Options",
    "Differences from published code",
    "When it lies",
    "How the panel finds its interval and null",
    "Invariances",
    "References",
]
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("README.md")])
BLOCK = re.compile(r"^(?P<indent> *)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@cache
def page(family: str) -> str:
    return (DOCS / "metrics" / f"{family}.md").read_text(encoding="utf-8")


def section(family: str, heading: str) -> str:
    return page(family).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def line_of(metric: Metric, heading: str) -> str:
    """Return what a section says about one score, in the list it begins with."""
    start = f"- `{metric.name}`: "
    lines = [line for line in section(metric.family, heading).splitlines() if line.startswith(start)]
    assert len(lines) == 1, f"{metric.family}.md, {heading}: wants one line that starts with {start!r}"
    return lines[0].removeprefix(start)


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(path: Path) -> set[str]:
    """Headings as links name them: lower case, no punctuation, hyphens for spaces."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def as_written(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def by_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_family_has_a_page_and_every_page_a_family() -> None:
    assert {path.stem for path in (DOCS / "metrics").glob("*.md")} == set(FAMILIES) | OF_SEVERAL_MODELS


@pytest.mark.parametrize("family", sorted({metric.family for metric in METRICS.values() if metric.in_default}))
def test_the_page_says_what_the_score_tends_to(family: str) -> None:
    marks = ("**Large-sample value.**", "**With more rows.**", "### With many rows")
    assert any(mark in page(family) for mark in marks)


@pytest.mark.parametrize("family", FAMILIES)
def test_headings(family: str) -> None:
    found = [line[3:] for line in page(family).splitlines() if line.startswith("## ")]
    assert found == HEADINGS
    title, question = page(family).split("\n\n")[:2]
    assert title.startswith("# ")
    assert f"`{family}`" in title
    assert question.endswith(("?", "."))
    assert all(section(family, heading).strip() for heading in HEADINGS)
    assert BLOCK.search(page(family)), "a page shows at least one number it asserts"
    assert "assert " in "".join(block["code"] for block in BLOCK.finditer(section(family, "When it lies")))


@pytest.mark.parametrize("family", FAMILIES)
def test_options_are_named_with_their_defaults(family: str) -> None:
    function = next(metric.function for metric in METRICS.values() if metric.family == family)
    options = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in ("codes", "factors", "rng")
    }
    rows = [row for row in section(family, "Options").splitlines() if row.startswith("| `")]
    listed = {row.split("`")[1]: row for row in rows}
    assert set(listed) - {"rng"} == set(options)
    for name, default in options.items():
        assert f"| `{as_written(default)}` |" in listed[name], f"{family}.md: {name} has the default {default!r}"


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_page_agrees_with_row(metric: Metric) -> None:
    measured = line_of(metric, "What it measures").rstrip(".").split(", ")
    assert measured == [str(part) for part in metric.measures]
    direction = "higher is better" if metric.higher_is_better else "lower is better"
    assert direction in line_of(metric, "Range and direction")
    factors = f"at least {metric.min_factors} factor" if metric.min_factors else "codes only"
    assert factors in line_of(metric, "What it needs")
    kept, _, lost = line_of(metric, "Invariances").rstrip(".").partition("; changed by ")
    assert kept == "unchanged by " + ", ".join(str(change) for change in Invariance if change in metric.invariant_to)
    assert lost == ", ".join(str(change) for change in Invariance if change not in metric.invariant_to)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_page_says_how_interval_and_null_are_made(metric: Metric) -> None:
    text = section(metric.family, "How the panel finds its interval and null")
    assert metric.source.interval_method in text
    assert f"mean over {metric.source.n_nulls} shuffle" in text


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_index_lists_metric(metric: Metric) -> None:
    known = list_metrics().loc[metric.name]
    cells = [
        f"[`{metric.name}`](metrics/{metric.family}.md)",
        known["question"],
        known["measures"],
        known["needs"],
        known["cost"],
    ]
    assert f"| {' | '.join(cells)} |" in (DOCS / "index.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=by_name)
def test_python_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "docs"}
    for block in BLOCK.finditer(text):
        # Empty lines in front make a failure point at the line of the page.
        source = "\n" * text.count("\n", 0, block.start("code")) + textwrap.dedent(block["code"])
        exec(compile(source, path, "exec"), namespace)


@pytest.mark.parametrize("path", PAGES, ids=by_name)
def test_no_python_hides_under_another_name(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    fences = re.findall(r"^ *(?:```|~~~) *(\w+)", text, re.MULTILINE)
    assert not {"py", "python3", "pycon", "ipython"} & set(fences), "write ```python, so that it runs in the tests"
    assert fences.count("python") == len(BLOCK.findall(text))


@pytest.mark.parametrize("path", PAGES, ids=by_name)
def test_links_resolve(path: Path) -> None:
    for link in LINK.findall(without_code(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), f"{by_name(path)} links to {link}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{by_name(path)} links to {link}"


def test_three_numbers_without_thinking_are_those_that_pass_nine_cases_in_ten() -> None:
    advice = re.search(
        r"three numbers and no thinking.*?nine in ten", (DOCS / "choosing.md").read_text(encoding="utf-8")
    )
    assert advice is not None
    advised = re.findall(r"\[`([a-z_.]+)`\]", advice[0])
    assert len(advised) == 3
    for name in advised:
        row = re.search(
            rf"^\| `{name}` \|.*\| (\d+) of (\d+) \|", (DOCS / "audit.md").read_text(encoding="utf-8"), re.M
        )
        assert row is not None
        assert int(row[1]) / int(row[2]) >= 0.9, name


def test_index_reaches_every_page() -> None:
    links = {link.partition("#")[0] for link in LINK.findall((DOCS / "index.md").read_text(encoding="utf-8"))}
    assert {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"index.md"} <= links
