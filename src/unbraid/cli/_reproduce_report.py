"""The page of one reproduced table."""

import json
from pathlib import Path
from typing import Any

from unbraid._base.files import write_text
from unbraid._base.record import finite
from unbraid.reproduce import REPRODUCTIONS
from unbraid.reproduce.run import Run, judge
from unbraid.reproduce.status_page import render_status


def write_report(name: str, result: Any, path: Path) -> Path:
    """Write our numbers beside the paper's, and which agree, as one HTML page."""
    plain = json.loads(json.dumps(finite(result.to_dict())))
    outcome = judge(REPRODUCTIONS[name], Run(name=name, mode="own", result=plain))
    return write_text(path, render_status([outcome]))
