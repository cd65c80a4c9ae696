"""Labels that a model reads: their factors, the rows that have them, and the blocks of codes made for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unbraid._base.arrays import IntArray
from unbraid._base.checks import check_at_least, check_choice
from unbraid.models.families import DIVA_BLOCKS, LABEL_ROLES, ONE_FACTOR_FAMILY, REST_BLOCK
from unbraid.models.objectives.labels import UNKNOWN

#: Role of the label that rows may lack, and the word for each role in messages.
TARGET = "y"
WORDS = {"y": "the target", "d": "the domain", "s": "the sensitive attribute"}
#: Role, factor and number of values of each label.
Labels = tuple[tuple[str, str, int], ...]


def chosen_labels(model: str, data: Any, given: Mapping[str, str] | Sequence[str]) -> Labels:
    """Return the labels that a model reads from a data set: as given, or the first factors in the order of the roles.

    Args:
        model: Name of the family.
        data: The data set.
        given: The factor of each role, such as ``{"y": "digit", "d": "angle"}``; or, for the family that reserves a
            code for each of some factors, these factors.

    Raises:
        ValueError: Data without factors, or factors that do not fit the roles.
    """
    roles = LABEL_ROLES.get(model, ())
    if not roles and model != ONE_FACTOR_FAMILY:
        return ()
    if not hasattr(data, "factor_sizes"):
        raise ValueError(f"data must be a data set with factors for {model}, got an array.")
    sizes = dict(zip(data.factor_names, (int(size) for size in data.factor_sizes), strict=True))
    named = _of_roles(model, roles, list(sizes), given) if roles else _of_codes(model, list(sizes), given)
    for factor in named.values():
        check_choice(f"factor of labels of {model}", factor, sizes)
    if len(set(named.values())) < len(named):
        raise ValueError(f"labels of {model} must be different factors, got {', '.join(named.values())}.")
    return tuple((role, factor, sizes[factor]) for role, factor in named.items())


def _of_roles(
    model: str, roles: Sequence[str], names: Sequence[str], given: Mapping[str, str] | Sequence[str]
) -> dict[str, str]:
    example = ",".join(f"{role}={name}" for role, name in zip(roles, ("NAME", "OTHER"), strict=True))
    if not given and len(names) < len(roles):
        raise ValueError(
            f"data must have a factor for each of {' and '.join(WORDS[role] for role in roles)} of {model}, "
            f"got {', '.join(names) or 'none'} only."
        )
    if not given:
        return dict(zip(roles, names, strict=False))
    if not isinstance(given, Mapping) or set(given) != set(roles):
        found = ", ".join(given) if isinstance(given, Mapping) else repr(given)
        raise ValueError(
            f"labels of {model} must name a factor for {' and '.join(roles)}, such as {example}, got {found}."
        )
    return {role: str(given[role]) for role in roles}


def _of_codes(model: str, names: Sequence[str], given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    if isinstance(given, Mapping):
        raise ValueError(f"labels of {model} must be a list of factors, one for each reserved code, got roles.")
    return {name: name for name in (given or (names[1:] if len(names) > 1 else names))}


def label_columns(model: str, data: Any, labels: Labels, labelled: float) -> IntArray:
    """Return the labels of all rows, one column each, with the target of some rows set to unknown.

    Args:
        model: Name of the family, for messages.
        data: The data set; a target below 0 means that the row has none.
        labels: As :func:`chosen_labels` returns them.
        labelled: Share of the rows of each class that keep their target: at least one row of a class.

    Raises:
        ValueError: A label that is missing where the model needs it, or that takes one value only.
    """
    if not 0 < labelled <= 1:
        raise ValueError(f"labelled must be a share above 0 and at most 1, got {labelled:g}.")
    names = tuple(data.factor_names)
    factors = np.asarray(data.factors(np.arange(len(data))))
    columns = np.stack([factors[:, names.index(factor)] for _, factor, _ in labels], axis=1).astype(np.int64)
    columns[columns < 0] = UNKNOWN
    for (role, factor, _), column in zip(labels, columns.T, strict=True):
        what = f"{WORDS.get(role, 'a factor')} {factor!r} of {model}"
        if role != TARGET and (column == UNKNOWN).any():
            row = int(np.argmax(column == UNKNOWN))
            raise ValueError(f"{what} must be known for every row, got none for row {row}; leave such rows out.")
        known = np.unique(column[column != UNKNOWN])
        if len(known) < 2:
            got = f"{known[0]} only" if len(known) else "no labelled row"
            raise ValueError(f"{what} must take two values or more in the data, got {got}.")
        if role == TARGET and labelled < 1:
            column[~_kept(column, labelled)] = UNKNOWN
    return columns


def check_parts(model: str, columns: IntArray, labels: Labels, parts: Sequence[IntArray]) -> None:
    """Raise ValueError where a label takes one value only in the rows of a member."""
    for (role, factor, _), column in zip(labels, columns.T, strict=True):
        for number, rows in enumerate(parts):
            known = np.unique(column[rows])
            if (known != UNKNOWN).sum() < 2:
                what = f"{WORDS.get(role, 'a factor')} {factor!r} of {model}"
                raise ValueError(f"{what} must take two values or more in the rows of every member, not in {number}.")


def _kept(column: IntArray, share: float) -> IntArray:
    """Return the rows that keep their label: the same share of each class, rounded up, the same for every seed."""
    kept = np.zeros(len(column), dtype=bool)
    order = np.random.default_rng(0).permutation(len(column))
    for value in np.unique(column[column != UNKNOWN]):
        rows = order[column[order] == value]
        kept[rows[: int(np.ceil(share * len(rows)))]] = True
    return kept


def chosen_blocks(
    model: str, labels: Labels, given: Mapping[str, int], n_codes: int | None, default: int
) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the blocks of codes of a model, none for most, and the number of its codes.

    Args:
        model: Name of the family.
        labels: That it reads.
        given: Size of each block of DIVA by name; by default thirds, the last block having what is left over.
        n_codes: Number of codes, where it was given.
        default: Number of codes otherwise.

    Raises:
        ValueError: Other names of blocks, sizes below 1, or too few codes.
    """
    if model == "diva" and given:
        if set(given) != set(DIVA_BLOCKS):
            raise ValueError(f"blocks of diva must be {', '.join(DIVA_BLOCKS)}, got {', '.join(given)}.")
        for name in DIVA_BLOCKS:
            check_at_least(f"size of block {name}", given[name], 1)
        return tuple((name, int(given[name])) for name in DIVA_BLOCKS), n_codes or sum(given.values())
    total = default if n_codes is None else n_codes
    if model == "diva":
        check_at_least("n_codes", total, len(DIVA_BLOCKS))
        third = total // len(DIVA_BLOCKS)
        return (("z_d", third), ("z_y", third), ("z_x", total - 2 * third)), total
    if model == ONE_FACTOR_FAMILY:
        check_at_least("n_codes", total, len(labels))
        rest = ((REST_BLOCK, total - len(labels)),) if total > len(labels) else ()
        return (*((factor, 1) for _, factor, _ in labels), *rest), total
    return (), total
