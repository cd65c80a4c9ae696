"""Names of classes in tables that Hugging Face's ``datasets`` wrote, which holds them beside the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid._base.text import listing

#: Where the schema of an Arrow table has the features of the data set, as JSON.
KEY = b"huggingface"
#: How the features call a column of classes, and the number of a row without one.
CLASS_LABEL, NO_CLASS = "ClassLabel", -1

ClassNames = Mapping[str, Sequence[str]]


def class_names(metadata: Mapping[bytes, bytes] | None) -> dict[str, tuple[str, ...]]:
    """Return the names of the classes of each column whose whole numbers stand for classes.

    Args:
        metadata: What is beside the schema of an Arrow table; anything but features of a data set has no classes.

    Example:
        >>> features = {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
        >>> class_names({b"huggingface": json.dumps({"info": {"features": features}}).encode()})
        {'label': ('cat', 'dog')}
    """
    try:
        features = json.loads((metadata or {})[KEY])["info"]["features"]
        return {
            str(name): tuple(feature["names"])
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == CLASS_LABEL and _are_texts(feature.get("names"))
        }
    except (KeyError, TypeError, AttributeError, ValueError):
        return {}


def _are_texts(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def check_same_classes(file: Path, classes: ClassNames, first: Path, expected: ClassNames) -> None:
    """Raise where a number stands for a class of one name in a file, and of another in the first of its shards."""
    other = [name for name in {**expected, **classes} if classes.get(name) != expected.get(name)]
    if other:
        raise ValueError(
            f"path {str(file)!r} must name classes as {str(first)!r} does, got a difference in "
            f"{listing(other, most=3)}; write all shards as one data set."
        )


def with_names(column: Any, names: Sequence[str]) -> pd.Series[Any]:
    """Return the names of classes in place of their numbers, ``None`` where there is no class.

    Raises:
        ValueError: A number has no name.

    Example:
        >>> with_names([1, 0, -1], ["cat", "dog"]).tolist()
        ['dog', 'cat', None]
    """
    numbers = pd.Series(column)
    places = numbers.fillna(NO_CLASS).to_numpy(dtype=np.float64)
    if len(places) and not (places.min() >= NO_CLASS and places.max() < len(names)):
        raise ValueError(
            f"factor {numbers.name!r} must be numbers of its {len(names)} classes, got {places.min():g} to "
            f"{places.max():g}; write the table again with the classes it has."
        )
    return pd.Series(np.array([*names, None], dtype=object)[places.astype(np.intp)], name=numbers.name, dtype=object)
