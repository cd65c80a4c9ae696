"""Disentanglement, completeness and informativeness, from any matrix of importances."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from unbraid._base.arrays import FloatArray
from unbraid.evidence.linear.importance import LinearOptions, Strength, linear_importance
from unbraid.metrics.table.metric import (
    AXES,
    Cost,
    Invariance,
    KnownFailure,
    Metric,
    Preset,
    Property,
    Source,
    not_one_number,
)
from unbraid.metrics.table.sources import BOOSTING, FOREST, LINEAR
from unbraid.metrics.table.weaknesses import OUTLIERS
from unbraid.probes.importance import Columns, Importance
from unbraid.probes.trees import (
    BoostingOptions,
    ForestImportance,
    ForestKind,
    ForestOptions,
    ImportanceKind,
    boosting_importance,
    forest_importance,
)
from unbraid.representation.representation import as_labelled
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score


class DCI(NamedTuple):
    """The three scores of one fit."""

    disentanglement: Score
    completeness: Score
    informativeness: Score

    def __float__(self) -> float:
        raise not_one_number(type(self).__name__, self._fields)


def dci_linear(
    codes: Any,
    factors: Any = None,
    *,
    strength: Strength = 0.0,
    columns: Columns = "shares",
    rng: np.random.Generator | int = 0,
) -> DCI:
    r"""Score disentanglement, completeness and informativeness with linear probes.

    Importances are absolute coefficients on standardised codes: of least squares for ordinal, continuous and circular
    factors; of logistic regressions, summed over values, for categorical ones. Coefficients that chance can explain are
    set to 0. With fewer than ten rows to a code, a Lasso takes the place of least squares.
    See :func:`disentanglement`, :func:`completeness` and :func:`informativeness` for the scores.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two.
        strength: Strength of a Lasso on standardised codes and targets, as in published code; 0 for least squares,
            ``"cross_validated"`` for a Lasso whose strength is chosen on rows kept aside. With a Lasso, logistic
            regressions are fitted to 70 % of the rows, and all their coefficients count, as in published code.
            ``"published"`` for the Lasso of one published library: codes and factors scaled to [0, 1], one of eight
            strengths chosen by ten folds, fitted and tested on all rows, every factor counted; numbers only.
        columns: Importances for a factor as ``"shares"`` of their sum, so that every factor counts alike in the mean
            over codes, or ``"raw"``, as published.
        rng: Chooses the held-out rows, or its seed.

    References:
        Eastwood & Williams (2018), A Framework for the Quantitative Evaluation of
        Disentangled Representations, sec. 2. https://openreview.net/forum?id=By-7dz-AZ

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 9, (500, 3))
        >>> float(dci_linear(factors + 0.0, factors).disentanglement)
        1.0
    """
    rep = as_labelled(codes, factors, metric="dci_linear", min_factors=2)
    return _scores(
        linear_importance(rep, LinearOptions(strength=strength, columns=columns), np.random.default_rng(rng))
    )


def dci_forest(
    codes: Any,
    factors: Any = None,
    *,
    forest: ForestKind = "random",
    importance: ForestImportance = "auto",
    columns: Columns = "shares",
    n_trees: int = 100,
    max_depth: int = 0,
    min_leaf: int = 0,
    rows_a_tree: int | None = None,
    rng: np.random.Generator | int = 0,
) -> DCI:
    r"""Score disentanglement, completeness and informativeness with forests.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two.
        forest: ``"random"``, or ``"extra"`` for extremely randomised trees.
        importance: ``"held_out"``: standard deviation of what splits on a code explain of rows that did not grow the
            trees; ``"impurity"`` or ``"permutation"``, as published, the latter also on training rows,
            ``"permutation_in_sample"``; ``"auto"``: the first, or impurity where ``max_depth`` is given.
        columns: Importances for a factor as ``"shares"`` of their sum, so that every factor counts alike in the mean
            over codes, or ``"raw"``, as published.
        n_trees: Trees for each factor.
        max_depth: Deepest tree; 0 for no limit.
        min_leaf: Fewest rows in a leaf; 0 for 20, but no more than one row in twenty, and for 5 with the importances of
            published code.
        rows_a_tree: Most rows that a tree is grown on, with published importances a tree of a categorical factor; 0 for
            as many as there are. By default 600 for ``"held_out"``, so that scores do not drift with the number of
            rows, and 20 000 for the others.
        rng: Source of chance, or its seed.

    References:
        Eastwood & Williams (2018), sec. 2. https://openreview.net/forum?id=By-7dz-AZ

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 9, (500, 3))
        >>> round(float(dci_forest(factors + 0.0, factors).disentanglement), 1)
        1.0
    """
    rep = as_labelled(codes, factors, metric="dci_forest", min_factors=2)
    options = ForestOptions(
        forest=forest,
        importance=importance,
        columns=columns,
        n_trees=n_trees,
        max_depth=max_depth,
        min_leaf=min_leaf,
        rows_a_tree=rows_a_tree,
    )
    return _scores(forest_importance(rep, options, np.random.default_rng(rng)))


def dci_boosting(
    codes: Any,
    factors: Any = None,
    *,
    importance: ImportanceKind = "held_out",
    columns: Columns = "shares",
    n_rounds: int = 100,
    n_leaves: int = 8,
    learning_rate: float = 0.1,
    rng: np.random.Generator | int = 0,
) -> DCI:
    r"""Score disentanglement, completeness and informativeness with gradient-boosted trees.

    Args:
        codes: ``(n_samples, n_codes)``, or a :class:`~unbraid.Representation`.
        factors: ``(n_samples, n_factors)``, at least two.
        importance: ``"held_out"``: standard deviation of what splits on a code explain of rows that did not grow the
            trees; ``"impurity"`` (total gain, never the number of splits) or ``"permutation"``, as published, the
            latter also on training rows, ``"permutation_in_sample"``.
        columns: Importances for a factor as ``"shares"`` of their sum, so that every factor counts alike in the mean
            over codes, or ``"raw"``, as published.
        n_rounds: Boosting rounds.
        n_leaves: Leaves of each tree.
        learning_rate: Step of each round.
        rng: Source of chance, or its seed.

    References:
        Eastwood & Williams (2018), sec. 2, with the probe of Locatello et al. (2019),
        https://arxiv.org/abs/1811.12359.

    Example:
        >>> import numpy as np
        >>> factors = np.random.default_rng(0).integers(0, 9, (500, 3))
        >>> round(float(dci_boosting(factors + 0.0, factors).disentanglement), 1)
        1.0
    """
    rep = as_labelled(codes, factors, metric="dci_boosting", min_factors=2)
    options = BoostingOptions(
        importance=importance, columns=columns, n_rounds=n_rounds, n_leaves=n_leaves, learning_rate=learning_rate
    )
    return _scores(boosting_importance(rep, options, np.random.default_rng(rng)))


def _scores(importance: Importance) -> DCI:
    return DCI(disentanglement(importance), completeness(importance), informativeness(importance))


def disentanglement(importance: Importance) -> Score:
    r"""Score whether each code matters for one factor only.

    .. math:: D = \sum_j \rho_j \bigl(1 - H_K(p_{j\cdot})\bigr), \quad
        p_{jk} = \frac{r_{jk}}{\sum_{k'} r_{jk'}}, \quad \rho_j = \frac{\sum_k r_{jk}}{\sum_{j'k} r_{j'k}}

    with the entropy in base K. A code that matters for nothing has weight 0, wherever it stands. A factor that the
    probe does not predict is left out, of K too; one that is predicted too weakly to tell by which codes counts as if
    its codes scored 0. Nothing can be said with fewer than two factors left, and the score is 0.
    """
    matrix, notes = importance.matrix, _left_out_notes(importance)
    left = matrix if importance.counts_all and matrix.any() else matrix[:, matrix.sum(axis=0) > 0]
    if left.shape[1] < 2:
        note = NOTHING_USED if left.shape[1] == 0 else ONE_FACTOR_LEFT
        return Score(value=0.0, notes=(note, *notes), evidence={"importance": matrix})
    per_code = 1 - normalised_entropy(left)
    weights = left.sum(axis=1)
    decided = left.shape[1] / (left.shape[1] + importance.undecided.sum())
    return Score(
        value=float(decided * np.average(np.where(weights > 0, per_code, 0.0), weights=weights)),
        per_code=np.where(weights > 0, per_code, np.nan),
        evidence={"importance": matrix},
        notes=notes,
    )


def completeness(importance: Importance) -> Score:
    r"""Score whether each factor needs one code only.

    .. math:: C = \frac{1}{K} \sum_k \bigl(1 - H_L(\tilde p_{\cdot k})\bigr), \quad
        \tilde p_{jk} = \frac{r_{jk}}{\sum_{j'} r_{j'k}}

    with the entropy in base L. A factor for which no code matters scores 0.
    """
    matrix = importance.matrix
    used = matrix.sum(axis=0) > 0
    per_factor = np.where(used, 1 - normalised_entropy(matrix.T), 0.0)
    lost = int((~used).sum())
    notes = (Note.of(NoteKind.METRIC, "{} factor(s) that this probe cannot predict score 0.", lost),) if lost else ()
    return Score(
        value=float(per_factor.mean()),
        per_factor=per_factor,
        evidence={"importance": matrix},
        notes=(*notes, *_cap_notes(importance)),
    )


def informativeness(importance: Importance) -> Score:
    """Score how well the factors can be predicted at all.

    Held-out accuracy for categorical factors and R², not below 0, for the others; averaged over factors.
    """
    notes: tuple[str, ...] = ()
    if 0 < importance.in_accuracy.sum() < len(importance.in_accuracy):
        notes = ("Accuracy for categorical factors and R² for the others, averaged.",)
    return Score(
        value=float(importance.informativeness.mean()),
        per_factor=importance.informativeness,
        evidence={"importance": importance.matrix},
        notes=notes,
    )


def normalised_entropy(rows: FloatArray) -> FloatArray:
    """Entropy of each row as shares of its sum, in base of the row length; 1 for a row of zeros."""
    total = rows.sum(axis=1, keepdims=True)
    p = np.divide(rows, total, out=np.full_like(rows, 1 / rows.shape[1]), where=total > 0)
    h: FloatArray = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1) / np.log(rows.shape[1])
    return np.clip(h, 0.0, 1.0)


NOTHING_USED = "No code helps to predict any factor."
ONE_FACTOR_LEFT = "The probe predicts one factor alone, with which nothing can be said about codes that share factors."


def _left_out_notes(importance: Importance) -> tuple[Note, ...]:
    """Return notes on the factors that disentanglement and its interval leave out, and on those that count 0."""
    n_factors, undecided = importance.matrix.shape[1], int(importance.undecided.sum())
    absent = int((importance.matrix.sum(axis=0) == 0).sum()) - undecided
    notes = []
    if absent:
        words = "Neither the score nor its interval covers {} of {} factors, which the probe does not predict."
        notes.append(Note.of(NoteKind.LEFT_OUT, words, absent, n_factors))
    if undecided:
        words = "{} of {} factors are predicted too weakly to tell by which codes, and count 0."
        notes.append(Note.of(NoteKind.LEFT_OUT, words, undecided, n_factors))
    return (*notes, *_cap_notes(importance))


def _cap_notes(importance: Importance) -> tuple[Note, ...]:
    """Return notes on limits to the size of trees that were reached."""
    notes = []
    if importance.rows_a_tree:
        notes.append(Note.of(NoteKind.METRIC, "Each tree is grown on {} of the rows.", importance.rows_a_tree))
    if importance.leaves_a_tree:
        words = "Trees stop growing at {} leaves, and larger trees may predict better."
        notes.append(Note.of(NoteKind.METRIC, words, importance.leaves_a_tree))
    return tuple(notes)


#: Of every score made of importances, those of DCI-ES too.
SPLIT_IMPORTANCE = (
    "a probe can predict a factor from codes of the factors that depend on it, so importance is divided between codes "
    "arbitrarily and not by the information in them."
)
ONE_COPY_SUFFICES = KnownFailure(
    cases=("*/duplicated", "*/several_views", "*/bent_copy"),
    sentence="A probe that uses one copy of a factor needs no other copy, so the other copies get no importance.",
)
UNUSED_CODES_UNSEEN = KnownFailure(
    cases=("*/cosines_pair",),
    sentence="A code that no probe needs gets no importance, so the factors that it mixes go unnoticed.",
)
BENT_CODES = KnownFailure(
    cases=("*/warped", "*/circles", "tied_angles/*"),
    sentence="A bent code is only partly a linear function of its factor, and the probe fits the remainder with the "
    "codes of factors that depend on it.",
)
TIED_SPLITS = KnownFailure(
    cases=("copied/identity", "copied/scaled"),
    sentence="Where one factor is a function of another, the codes of both predict it equally well, and the order of "
    "the codes decides on which of them a tree splits.",
)
OBLIQUE_BOUNDARIES = KnownFailure(
    cases=("*/mixed*",),
    sentence="Trees split on one code at a time, and approximate an oblique boundary in steps that take many rows.",
)


def _rows(
    family: str,
    function: Callable[..., DCI],
    source: Source,
    *,
    probe: str,
    first: tuple[KnownFailure, ...] = (),
    last: tuple[KnownFailure, ...] = (),
    informativeness_only: tuple[KnownFailure, ...] = (),
    of_informativeness: Mapping[str, Any] | None = None,
    drawn_importances: bool = False,
    **shared: Any,
) -> tuple[Metric, ...]:
    """Return the three rows of one probe; failures that all three share come ``first`` or ``last``.

    ``of_informativeness`` has fields of the third row in place of the shared ones; importances are ``drawn`` where they
    depend on folds and trees more than on the rows.
    """
    shared |= {"function": function, "source": source, "reference": "Eastwood & Williams (2018), openreview By-7dz-AZ"}
    return (
        Metric(
            name=f"{family}.disentanglement",
            title=f"DCI disentanglement, {probe}",
            score=disentanglement,
            measures=(Property.MODULARITY,),
            min_factors=2,
            summary="Does each code matter for one factor only?",
            misled_by_dependence=SPLIT_IMPORTANCE,
            known_failures=(*first, UNUSED_CODES_UNSEEN, *last),
            drawn_fit=drawn_importances,
            **shared,
        ),
        Metric(
            name=f"{family}.completeness",
            title=f"DCI completeness, {probe}",
            score=completeness,
            measures=(Property.COMPACTNESS,),
            summary="Does each factor need one code only?",
            misled_by_dependence=SPLIT_IMPORTANCE,
            known_failures=(ONE_COPY_SUFFICES, *first, *last),
            drawn_fit=drawn_importances,
            **shared,
        ),
        Metric(
            name=f"{family}.informativeness",
            title=f"DCI informativeness, {probe}",
            score=informativeness,
            measures=(Property.EXPLICITNESS,),
            summary="Can the factors be predicted from the codes at all?",
            known_failures=(*informativeness_only, *first, *last),
            **{**shared, **(of_informativeness or {})},
        ),
    )


TREES: Any = {
    "first": (TIED_SPLITS,),
    "invariant_to": AXES | {Invariance.WARPING},
    "tolerance": 0.03,  # folds and bins of codes move effects on held-out rows
    "cost": Cost.SECONDS,
}
ROWS = (
    *_rows(
        "dci_linear",
        dci_linear,
        LINEAR,
        probe="linear",
        first=(BENT_CODES,),
        last=(OUTLIERS,),
        # Of few rows classifiers with a penalty predict worse, while coefficients, of which D and C are, hardly change.
        of_informativeness={"invariant_to": AXES | {Invariance.ROTATION}, "tolerance": 1e-3, "extrapolates": True},
        extrapolates=False,
        invariant_to=AXES,
        tolerance=1e-6,
        cost=Cost.QUICK,
        presets=frozenset({Preset.VAE}),
    ),
    *_rows(
        "dci_forest",
        dci_forest,
        FOREST,
        probe="forest",
        informativeness_only=(OBLIQUE_BOUNDARIES,),
        drawn_importances=True,
        **TREES,
    ),
    *_rows(
        "dci_boosting",
        dci_boosting,
        BOOSTING,
        probe="boosting",
        # Few rows hide small effects, so that codes and factors look simpler than they are.
        falls_with_rows=True,
        of_informativeness={"falls_with_rows": False},
        presets=frozenset({Preset.VAE}),
        **TREES,
    ),
)
