"""Blocks of codes: each factor in its own block, leakage into other blocks, and prediction from the own block."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from unbraid._base.arrays import FloatArray, IntArray
from unbraid._base.checks import check_choice, did_you_mean
from unbraid.evidence.block_reading import BlockOptions, BlockReading, Reading, block_reading
from unbraid.metrics.table.metric import AXES, Cost, KnownFailure, Metric, Property
from unbraid.metrics.table.sources import BLOCKS
from unbraid.metrics.table.weaknesses import ONE_PAIR_AT_A_TIME, OUTLIERS, SUBSTITUTE_CODE
from unbraid.representation.representation import as_labelled
from unbraid.results.score import Score

BlockProbe = Literal["kernel", "linear"]
#: The block of each factor, by name of factor, or as text: ``"digit=z_y,angle=z_d"``.
Own = Mapping[str, str] | str | None
#: Quantile of a standard normal for a 95 % confidence interval.
TWO_SIDED = 1.959964
NO_BLOCKS = "No blocks were given, so every code is a block of its own."
ONE_BLOCK = "There is one block, so no other block can know a factor."


def blocks(
    codes: Any,
    factors: Any = None,
    *,
    blocks: Mapping[str, Any] | str | None = None,
    probe: BlockProbe = "kernel",
    own: Own = None,
    max_train: int = 5000,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how far each factor is read from its own block of codes and from no other.

    .. math::

        \mathrm{blocks} = \frac1K \sum_k \max\Bigl(0,\; s_{k b_k} - \max_{b \ne b_k} s_{kb}\Bigr), \qquad
        s_{kb} = \max\Bigl(0,\; 1 - \frac{\text{error of a probe of block } b}{\text{error of a blind guess}}\Bigr)

    Errors are squared errors of numbers and angles (:math:`s` is then R²) and shares of wrong categories, all on
    held-out rows.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation` with blocks.
        factors: ``(n_samples, n_factors)``.
        blocks: Blocks of codes, as :class:`~unbraid.Representation` takes them; left out where ``codes`` is one.
            Without any, every code is a block of its own.
        probe: ``"kernel"``: ridge regression on the codes and a Gaussian kernel; ``"linear"``: least squares, softmax
            regression for categories.
        own: The block of each factor, ``{"digit": "z_y"}`` or ``"digit=z_y,angle=z_d"``; of a factor not named, the
            block that it is best read from.
        max_train: Rows that a probe is fitted to at most; all rows are tested.
        rng: Source of chance, or its seed.

    Returns:
        A score in [0, 1], higher is better. ``evidence`` has, by factor and block: ``matrix``, its confidence interval
        ``low`` and ``high``, and ``chance``, the same for shuffled factors; values below 0 are worse than a blind
        guess. ``own_block`` is the number of each factor's block.

    Raises:
        ValueError: A block or factor that is not there, or too few labelled rows.

    Note:
        Unchanged by any invertible linear map within a block. *Not* unchanged by maps between blocks.

    References:
        Block identifiability: von Kügelgen et al. (2021), sec. 5. https://arxiv.org/abs/2106.04619

    Example:
        >>> import numpy as np
        >>> v = np.random.default_rng(0).normal(size=(600, 2))
        >>> codes = np.column_stack([v[:, 0] + v[:, 0] ** 3, v[:, 1], -v[:, 1]])
        >>> round(float(blocks(codes, v, blocks={"a": [0], "b": [1, 2]})), 1)
        1.0
    """
    rep = as_labelled(codes, factors, metric="blocks", blocks=blocks)
    return blocks_score(_read(rep, max_train, rng), probe=probe, own=own)


def block_leakage(
    codes: Any,
    factors: Any = None,
    *,
    blocks: Mapping[str, Any] | str | None = None,
    probe: BlockProbe = "kernel",
    own: Own = None,
    max_train: int = 5000,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how well the factors are read from blocks that should not know them; lower is better.

    .. math:: \mathrm{leakage} = \frac1K \sum_k \max_{b \ne b_k} s_{kb}

    Arguments, matrix and :math:`s` are those of :func:`blocks`.

    Example:
        >>> import numpy as np
        >>> v = np.random.default_rng(0).normal(size=(600, 2))
        >>> round(float(block_leakage(np.column_stack([v, v[:, 0]]), v, blocks="a=0,b=1-2")), 1)
        0.5
    """
    rep = as_labelled(codes, factors, metric="blocks", blocks=blocks)
    return leakage_score(_read(rep, max_train, rng), probe=probe, own=own)


def block_identifiability(
    codes: Any,
    factors: Any = None,
    *,
    blocks: Mapping[str, Any] | str | None = None,
    probe: BlockProbe = "kernel",
    own: Own = None,
    max_train: int = 5000,
    rng: np.random.Generator | int = 0,
) -> Score:
    r"""Score how well the factors are read from their own blocks: R², or the share of a blind guess's errors removed.

    .. math:: \mathrm{own} = \frac1K \sum_k s_{k b_k}

    Arguments, matrix and :math:`s` are those of :func:`blocks`. With ``probe="linear"`` it is identifiability of a
    block up to a linear map, with ``"kernel"`` up to a smooth one; read it beside :func:`block_leakage`.

    Example:
        >>> import numpy as np
        >>> v = np.random.default_rng(0).normal(size=(600, 2))
        >>> round(float(block_identifiability(v @ [[1, 2], [3, 4]], v, blocks="all=0-1")), 2)
        1.0
    """
    rep = as_labelled(codes, factors, metric="blocks", blocks=blocks)
    return own_score(_read(rep, max_train, rng), probe=probe, own=own)


def _read(rep: Any, max_train: int, rng: np.random.Generator | int) -> BlockReading:
    return block_reading(rep, BlockOptions(max_train=max_train), np.random.default_rng(rng))


def blocks_score(found: BlockReading, probe: BlockProbe = "kernel", own: Own = None) -> Score:
    """Own block less the best other, averaged over factors, each floored at 0."""
    reading, places = chosen(found, probe, own)
    inside, outside = own_and_other(reading.share, places)
    return _score(found, reading, places, np.maximum(inside - outside, 0.0))


def leakage_score(found: BlockReading, probe: BlockProbe = "kernel", own: Own = None) -> Score:
    """Best other block, averaged over factors."""
    reading, places = chosen(found, probe, own)
    return _score(found, reading, places, own_and_other(reading.share, places)[1])


def own_score(found: BlockReading, probe: BlockProbe = "kernel", own: Own = None) -> Score:
    """Own block, averaged over factors."""
    reading, places = chosen(found, probe, own)
    return _score(found, reading, places, own_and_other(reading.share, places)[0])


def chosen(found: BlockReading, probe: BlockProbe, own: Own) -> tuple[Reading, IntArray]:
    """Return what the probe reads, and the number of each factor's block."""
    check_choice("probe", probe, get_args(BlockProbe))
    reading = found.by_probe[probe]
    return reading, own_blocks(found, reading.share, own)


def own_and_other(share: FloatArray, places: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return shares of the own block and of the best other block, ``(n_factors,)`` each, from 0 to 1."""
    floored = np.clip(share, 0.0, 1.0)
    rows = np.arange(len(floored))
    inside = floored[rows, places]
    others = floored.copy()
    others[rows, places] = 0.0
    return inside, others.max(axis=1)


def own_blocks(found: BlockReading, share: FloatArray, own: Own) -> IntArray:
    """Return the number of the block of each factor: as declared, else the block that knows it best."""
    best: IntArray = share.argmax(axis=1)
    for factor, block in _declared(own).items():
        for what, name, names in (("factor", factor, found.factors), ("block", block, found.blocks)):
            if name not in names:
                raise ValueError(
                    f"own names the {what} {name!r}, which is not one of {', '.join(names)}{did_you_mean(name, names)}."
                )
        best[found.factors.index(factor)] = found.blocks.index(block)
    return best


def _declared(own: Own) -> dict[str, str]:
    if own is None:
        return {}
    if isinstance(own, Mapping):
        return {str(factor): str(block) for factor, block in own.items()}
    pairs = [part.partition("=") for part in str(own).split(",")]
    if not all(equals and factor.strip() and block.strip() for factor, equals, block in pairs):
        raise ValueError(f"own must be factor=block separated by commas, such as 'digit=z_y,angle=z_d', got {own!r}.")
    return {factor.strip(): block.strip() for factor, _, block in pairs}


def _score(found: BlockReading, reading: Reading, places: IntArray, per_factor: FloatArray) -> Score:
    half = TWO_SIDED * reading.error
    notes = (NO_BLOCKS,) if found.is_single else (ONE_BLOCK,) if len(found.blocks) == 1 else ()
    return Score(
        value=float(per_factor.mean()),
        per_factor=per_factor,
        evidence={
            "matrix": reading.share,
            "low": reading.share - half,
            "high": reading.share + half,
            "chance": reading.chance,
            "own_block": places.astype(np.float64),
        },
        notes=notes,
    )


PACKED = KnownFailure(
    cases=("*/two_factors_per_code",),
    sentence="A probe of few bumps reads only part of a factor that a code packs with another in steps.",
)


KNOWS_NOTHING = KnownFailure(
    cases=("*/noise_*", "*/many_noise_codes", "*/nuisance_*", "correlated/*", "composed/*", "copied/*", "few_rows/*"),
    sentence="Codes that know nothing of a factor leak nothing of it, and dependence between factors, which leaks by "
    "itself, leaves less room for codes to add to it.",
)
ONE_BLOCK_AT_A_TIME = KnownFailure(
    cases=("*/mixed*", "*/rotated", "*/leaky"),
    sentence="It reads one block at a time, and where no blocks are given one code: of a factor that is spread over "
    "several, each has a part.",
)


def _row(name: str, *failures: KnownFailure, **own: Any) -> Metric:
    return Metric(
        name=name,
        source=BLOCKS,
        reference="von Kügelgen et al. (2021), arXiv:2106.04619",
        invariant_to=AXES,
        tolerance=1e-4,
        cost=Cost.QUICK,
        in_default=False,
        with_blocks=True,
        known_failures=(ONE_PAIR_AT_A_TIME, OUTLIERS, *failures),
        **own,
    )


ROWS = (
    _row(
        "blocks",
        PACKED,
        title="Factors in their own blocks",
        function=blocks,
        score=blocks_score,
        measures=(Property.COMPACTNESS,),
        summary="How much better is each factor read from its own block of codes than from any other?",
        misled_by_dependence=SUBSTITUTE_CODE,
        other_names=("block_score", "block_gap"),
    ),
    _row(
        "blocks.leakage",
        KNOWS_NOTHING,
        title="Leakage into other blocks",
        function=block_leakage,
        score=leakage_score,
        measures=(Property.COMPACTNESS,),
        summary="How well are factors read from blocks of codes that should not know them?",
        higher_is_better=False,
        misled_by_dependence=SUBSTITUTE_CODE,
        has_null=False,
        other_names=("block_leakage",),
    ),
    _row(
        "blocks.own",
        ONE_BLOCK_AT_A_TIME,
        title="Block identifiability",
        function=block_identifiability,
        score=own_score,
        measures=(Property.EXPLICITNESS,),
        summary="How well is each factor read from its own block of codes?",
        misled_by_dependence=SUBSTITUTE_CODE,
        other_names=("block_identifiability", "block_r2"),
    ),
)
