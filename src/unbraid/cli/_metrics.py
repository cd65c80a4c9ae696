"""``unbraid metrics``."""

import json
from typing import Annotated

from cyclopts import Parameter

from unbraid import list_metrics
from unbraid.cli._table import print_rows


def metrics(*, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> None:
    """List the metrics: what each measures, what it needs, what it costs.

    A family name such as `dci_forest` stands for all its scores. Each metric's documentation page says
    how it is defined, when it lies, and which option reproduces which published code.

    Parameters
    ----------
    as_json
        Print JSON instead of a table.
    """
    table = list_metrics()
    if as_json:
        print(json.dumps(table.reset_index().to_dict(orient="records"), indent=2))
        return
    print_rows(
        ["metric", "measures", "question", "needs", "better", "cost"],
        [
            [name, row["measures"], row["question"], row["needs"], row["direction"].split()[0], row["cost"]]
            for name, row in table.iterrows()
        ],
        wrap=("question", "measures", "needs"),
    )
