"""``unbraid metrics``."""

import json
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Annotated, Any

from cyclopts import Parameter

from unbraid._base.record import finite
from unbraid.cli._table import print_rows
from unbraid.metrics.table.catalogue import BESIDE_THE_PANEL
from unbraid.metrics.table.listing import BY_NAME, DEFAULT, WITH_BLOCKS, describe_metric, list_metrics, panels
from unbraid.panel.plan import resolve_metrics

WIDTH, INDENT = 100, 18

#: Place of a metric in the default panel, in words.
PANEL = {
    DEFAULT: "in the default panel",
    WITH_BLOCKS: "in the default panel where codes have blocks; without, only by name: --metrics {}",
    BY_NAME: "only by name: --metrics {}",
}


def metrics(*names: str, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> None:
    """List the metrics: what each measures, needs and costs. With names, describe these metrics in full.

    A family name such as `dci_forest` stands for all its scores. The documentation page of
    each metric has its definition, its known failures, and the options that reproduce published code.

    Examples:
        unbraid metrics

        unbraid metrics mig dci_forest

    Parameters
    ----------
    names
        Metrics or families to describe: range, invariances, options with their defaults, paper.
    as_json
        Print JSON instead of a table.
    """
    if names:
        _describe(names, as_json=as_json)
        return
    table = list_metrics()
    if as_json:
        _print_json(table.reset_index().to_dict(orient="records"))
        return
    print_rows(
        ["metric", "panel", "measures", "question", "needs", "better", "cost"],
        [
            [
                name,
                row["panel"],
                row["measures"],
                row["question"],
                row["needs"],
                row["direction"].split()[0],
                row["cost"],
            ]
            for name, row in table.iterrows()
        ],
        wrap=("question", "measures", "needs"),
    )
    _print_beside()


def _print_beside() -> None:
    print("\nPanels, for `unbraid score --preset` and `unbraid.evaluate(metrics=...)`:")
    for name, (purpose, members) in panels().items():
        listed = "" if name in ("default", "all") else f" ({', '.join(members)})"
        print(fill(f"- {name}: {purpose}{listed}.", WIDTH, subsequent_indent="  "))
    print(
        "\n`unbraid score` and `unbraid.evaluate` run the default panel; other metrics are asked for by name.\n"
        "`unbraid metrics NAME` describes one metric in full.\n\n"
        "Not in the panel, to be called in Python:"
    )
    for name, beside in BESIDE_THE_PANEL.items():
        print(f"- {name}: {beside.summary} Needs {beside.needs}: {beside.call}; {beside.also}.")


def _describe(names: Sequence[str], *, as_json: bool) -> None:
    beside = [name for name in names if name in BESIDE_THE_PANEL]
    rows = [name for name in names if name not in BESIDE_THE_PANEL]
    found = [describe_metric(metric) for metric in resolve_metrics(rows)] if rows else []
    if as_json:
        more = [{"metric": name, **_beside(name)} for name in beside]
        _print_json([*found, *more])
        return
    blocks = [_block(f"{about['metric']}: {about['title']}", _lines(about)) for about in found]
    blocks += [_block(f"{name}: not in the panel", _beside(name)) for name in beside]
    print("\n\n".join(blocks))


def _beside(name: str) -> dict[str, str]:
    beside = BESIDE_THE_PANEL[name]
    return {"question": beside.summary, "needs": beside.needs, "call": beside.call, "also": beside.also}


def _lines(about: Mapping[str, Any]) -> dict[str, str]:
    dependence = about["misled_by_dependence"]
    return {
        "question": about["question"],
        "measures": about["measures"],
        "range": f"{about['lowest']:g} to {about['highest']:g}, {about['direction']}",
        "unchanged by": f"{', '.join(about['unchanged_by']) or 'nothing'} (of the codes)",
        "changed by": f"{', '.join(about['changed_by']) or 'nothing'} (of the codes)",
        "needs": about["needs"],
        "cost": about["cost"],
        "panel": PANEL[about["panel"]].format(about["metric"]),
        "further panels": about["presets"],
        "options": _options(about),
        "interval": about["interval"],
        "chance": about["chance"],
        **({"dependent factors": dependence} if dependence else {}),
        "paper": about["reference"],
        "formula": f"{about['page']}, or help({about['function']}) in Python",
    }


def _options(about: Mapping[str, Any]) -> str:
    if not about["options"]:
        return "none"
    first, default = next(iter(about["options"].items()))
    listed = ", ".join(_option(name, about) for name in about["options"])
    return f"{listed}; set as --option {about['metric']}.{first}={default}"


def _option(name: str, about: Mapping[str, Any]) -> str:
    others = [str(one) for one in about["choices"].get(name, ()) if one != about["options"][name]]
    return f"{name}={about['options'][name]}" + (f" (or {', '.join(others)})" if others else "")


def _block(title: str, lines: Mapping[str, str]) -> str:
    wrapped = (
        fill(text, WIDTH, initial_indent=f"  {name:<{INDENT}}", subsequent_indent=" " * (INDENT + 2))
        for name, text in lines.items()
    )
    return "\n".join([title, *wrapped])


def _print_json(records: list[dict[Any, Any]]) -> None:
    print(json.dumps(finite(records), indent=2, ensure_ascii=False))
