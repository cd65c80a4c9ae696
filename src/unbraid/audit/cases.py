"""Cases of the audit: factors, encoders, and the expected change of each property."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from inspect import getdoc
from zlib import crc32

import numpy as np
import scipy

from unbraid._base.arrays import AnyArray, FloatArray, IntArray
from unbraid._base.checks import did_you_mean
from unbraid.audit import cases as structures
from unbraid.audit import encoders as encoders
from unbraid.audit.truth import Should, Truth
from unbraid.metrics import Invariance

N_ROWS = 2000
FEW_ROWS = 100
CORRELATION = 0.7
SIZES = (4, 5, 6)
#: Share of the rows in which a concept is there, and in which a further code is active.
RARE, ACTIVE = 0.03, 0.01
#: Steps of two angles, and values of a factor beside them.
TURNS = (8, 12, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorStructure:
    """One way in which factors may be distributed.

    Attributes:
        name: First half of the names of its cases.
        text: Text that continues "Factors ...".
        draw: ``(rng, n_rows) -> factors``, ``(n_rows, n_factors)``.
        most_rows: Number of rows, where the case is about few rows.
        n_labelled: Number of factors with labels, where not all.
        kinds: Kinds of the factors, where they are declared.
    """

    name: str
    text: str
    draw: Callable[[np.random.Generator, int], AnyArray]
    most_rows: int | None = None
    n_labelled: int | None = None
    kinds: tuple[str | None, ...] | None = None


def _independent(rng: np.random.Generator, n_rows: int) -> IntArray:
    return rng.integers(SIZES, size=(n_rows, len(SIZES)))


def _correlated(rng: np.random.Generator, n_rows: int) -> IntArray:
    """Cut correlated normal variables at their quantiles."""
    size = len(SIZES)
    covariance = np.full((size, size), CORRELATION) + (1 - CORRELATION) * np.eye(size)
    normal = rng.standard_normal((n_rows, size)) @ np.linalg.cholesky(covariance).T
    return np.floor(scipy.special.ndtr(normal) * SIZES).astype(np.int64)


def _copied(rng: np.random.Generator, n_rows: int) -> IntArray:
    first, second = rng.integers((4, 6), size=(n_rows, 2)).T
    return np.column_stack([first, second, second // 2])


def _composed(rng: np.random.Generator, n_rows: int) -> IntArray:
    first, second = rng.integers((4, 5), size=(n_rows, 2)).T
    return np.column_stack([first, second, first + second])


def _many_values(rng: np.random.Generator, n_rows: int) -> IntArray:
    return rng.integers(100, size=(n_rows, 3))


def _uneven(rng: np.random.Generator, n_rows: int) -> IntArray:
    rare = rng.choice(3, size=n_rows, p=(0.9, 0.06, 0.04))
    return np.column_stack([rare, rng.integers((5, 6), size=(n_rows, 2))])


def _continuous(rng: np.random.Generator, n_rows: int) -> AnyArray:
    return rng.random((n_rows, 3))


def _angles(rng: np.random.Generator, n_rows: int) -> AnyArray:
    return np.pi * rng.random((n_rows, 3))


def _tied_angles(rng: np.random.Generator, n_rows: int) -> AnyArray:
    first, second = np.pi * rng.random((2, n_rows))
    return np.column_stack([first, second, (first + second) / 2])


def _sparse(rng: np.random.Generator, n_rows: int) -> IntArray:
    return (rng.random((n_rows, 3)) < RARE).astype(np.int64)


def _hierarchical(rng: np.random.Generator, n_rows: int) -> IntArray:
    parent, other = rng.random((2, n_rows)) < 4 * RARE
    child = parent & (rng.random(n_rows) < 0.5)
    return np.column_stack([parent, child, other]).astype(np.int64)


def _circular(rng: np.random.Generator, n_rows: int) -> IntArray:
    return rng.integers(TURNS, size=(n_rows, len(TURNS)))


def shuffled(structure: FactorStructure) -> FactorStructure:
    """Shuffle each factor on its own: the independent baseline of a dependent structure."""

    def draw(rng: np.random.Generator, n_rows: int) -> AnyArray:
        return rng.permuted(structure.draw(rng, n_rows), axis=0)

    text = f"as in {structure.name}, each shuffled on its own, so that they are independent"
    return FactorStructure(name=f"{structure.name}_shuffled", text=text, draw=draw)


INDEPENDENT = FactorStructure(
    name="independent", text="that are independent, with 4, 5 and 6 evenly likely values", draw=_independent
)
CORRELATED = FactorStructure(
    name="correlated", text=f"that correlate by {CORRELATION} with each other", draw=_correlated
)
COPIED = FactorStructure(
    name="copied", text="of which the third is a function of the second, half its value", draw=_copied
)
COMPOSED = FactorStructure(name="composed", text="of which the third is the sum of the first two", draw=_composed)
CONTINUOUS = FactorStructure(
    name="continuous", text="that are independent and continuous, evenly spread over an interval", draw=_continuous
)
FEW = FactorStructure(
    name="few_rows", text=f"as in independent, but only {FEW_ROWS} rows", draw=_independent, most_rows=FEW_ROWS
)
MANY_VALUES = FactorStructure(name="many_values", text="that are independent, each with 100 values", draw=_many_values)
UNEVEN = FactorStructure(
    name="uneven", text="that are independent, the first of which has one value in 90 % of the rows", draw=_uneven
)
ONE_LABELLED = FactorStructure(
    name="one_labelled", text="as in independent, of which only the first is labelled", draw=_independent, n_labelled=1
)
ANGLES = FactorStructure(name="angles", text="that are independent angles between 0 and π", draw=_angles)
TIED_ANGLES = FactorStructure(
    name="tied_angles", text="that are angles, the third of which is the mean of the first two", draw=_tied_angles
)
SPARSE = FactorStructure(
    name="sparse", text=f"that are independent concepts, each there in {RARE:.0%} of the rows", draw=_sparse
)
HIERARCHICAL = FactorStructure(
    name="hierarchical",
    text="that are concepts, the second of which is there in half of the rows of the first",
    draw=_hierarchical,
)
CIRCULAR = FactorStructure(
    name="circular",
    text="of which the first two are angles of 8 and 12 steps, declared circular",
    draw=_circular,
    kinds=("circular:8", "circular:12", None),
)


Encoder = Callable[[AnyArray, np.random.Generator], FloatArray]
BEST, STAY, FALL, CHANCE, FREE = Should
IDENTITY, NOISE, MIXED = "independent/identity", "independent/noise_normal", "independent/mixed"
WHEELS, WHEELS_NOISE = "circular/wheels", "circular/noise_normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A representation with a known answer.

    Attributes:
        structure: Distribution of the factors.
        encoder: Function from factors to codes; its name is the second half of the name of the case.
        truth: Expected change of each property, compared with the baseline.
        baseline: Name of the case it is compared with; itself where it is compared with the best possible.
    """

    structure: FactorStructure
    encoder: Encoder
    truth: Truth
    baseline: str

    @property
    def name(self) -> str:
        """``structure/encoder``."""
        return f"{self.structure.name}/{self.encoder.__name__}"

    @property
    def description(self) -> str:
        """Encoder and factors, in a sentence."""
        return f"{(getdoc(self.encoder) or '').removesuffix('.')}; factors {self.structure.text}."

    def build(self, *, seed: int = 0, n_rows: int = structures.N_ROWS) -> tuple[FloatArray, AnyArray]:
        """Return codes and labelled factors. Cases of one structure have the same factors for the same seed."""
        n_rows = min(n_rows, self.structure.most_rows or n_rows)
        factors = self.structure.draw(np.random.default_rng([seed, crc32(self.structure.name.encode())]), n_rows)
        codes = self.encoder(factors, np.random.default_rng([seed, crc32(self.name.encode())]))
        return codes, factors[:, : self.structure.n_labelled]


PERFECT = Truth(
    modularity=BEST,
    compactness=BEST,
    explicitness=BEST,
    orthogonality=BEST,
    independence=BEST,
    dimension=BEST,
    rank=BEST,
)
NOTHING = Truth(
    modularity=CHANCE, compactness=CHANCE, explicitness=CHANCE, orthogonality=CHANCE, independence=BEST, rank=CHANCE
)
SAME = Truth()
#: Of a change that moves no direction of the codes either.
SAME_DIRECTIONS = Truth(dimension=STAY)
MIXTURE = Truth(modularity=FALL, compactness=FALL, orthogonality=FALL, independence=FALL, dimension=FALL)
COPIES = Truth(compactness=FALL, independence=FALL)
#: Bent copies are also features that a linear probe could not make itself.
#: No property is expected to change, or to stay.
UNKNOWN = Truth(modularity=FREE, compactness=FREE, explicitness=FREE, orthogonality=FREE, independence=FREE, rank=FREE)
BENT_COPIES = replace(COPIES, explicitness=FREE, orthogonality=FREE, rank=FREE)

#: Encoders for every structure: the ten of the identifiability-guard benchmark.
GRID: tuple[tuple[Encoder, Truth], ...] = (
    (encoders.scaled, Truth(promise=Invariance.SCALING)),
    (encoders.warped, Truth(explicitness=FREE, promise=Invariance.WARPING)),
    (encoders.mixed, MIXTURE),
    (
        encoders.dropped,
        Truth(modularity=FREE, compactness=FREE, explicitness=FALL, orthogonality=FREE, dimension=FALL, rank=FREE),
    ),
    (encoders.duplicated, replace(COPIES, dimension=STAY)),
    (encoders.several_views, BENT_COPIES),
    (encoders.mixed_wide, replace(MIXTURE, orthogonality=FREE)),
    (encoders.circles, replace(COPIES, explicitness=FREE, rank=FREE)),
    (encoders.noise_normal, NOTHING),
    (encoders.noise_uniform, NOTHING),
)
#: Further encoders, for independent factors only.
EXTRAS: tuple[tuple[Encoder, Truth], ...] = (
    (encoders.permuted, Truth(dimension=STAY, promise=Invariance.PERMUTATION)),
    (
        encoders.rotated,
        Truth(modularity=FALL, compactness=FALL, independence=FALL, dimension=STAY, promise=Invariance.ROTATION),
    ),
    (encoders.two_factors_per_code, Truth(modularity=FALL, explicitness=FREE, orthogonality=FALL, rank=FREE)),
    (encoders.two_codes_per_factor, Truth(compactness=FALL, explicitness=FREE, independence=FREE, rank=FREE)),
    (encoders.leaky, MIXTURE),
    (encoders.bent_copy, BENT_COPIES),
    (encoders.dead_code, SAME_DIRECTIONS),
    (encoders.noise_code, SAME),
    (encoders.many_noise_codes, SAME),
    (encoders.nuisance_code, SAME),
    (
        encoders.nuisance_mixed,
        Truth(modularity=FREE, compactness=FREE, explicitness=FALL, orthogonality=FREE, rank=FREE),
    ),
    (encoders.outlier, SAME_DIRECTIONS),
    (encoders.jitter, SAME_DIRECTIONS),
    (
        encoders.all_copies,
        Truth(modularity=FREE, compactness=FREE, explicitness=FALL, orthogonality=FREE, rank=FREE, independence=FALL),
    ),
    (encoders.untrained, replace(MIXTURE, orthogonality=FREE, explicitness=FREE, rank=FREE, dimension=FREE)),
)


def _dependent(structure: FactorStructure, identity: Truth, **overrides: Truth) -> list[Case]:
    """Return the grid on factors that depend on each other.

    The identity is compared with the same factors, each shuffled on its own; encoders are compared with the identity.
    """
    apart = _alone(structures.shuffled(structure), encoders.identity)
    base = Case(structure=structure, encoder=encoders.identity, truth=identity, baseline=apart.name)
    cases = [apart, base]
    for encoder, truth in GRID:
        # Whether mixing or leaving out makes codes of dependent factors more dependent is not known on paper.
        open_question = encoder is encoders.mixed or truth.independence is STAY
        known = replace(truth, independence=FREE) if open_question else truth
        # Nor are directions, of factors that share some.
        known = known if truth.dimension is STAY else replace(known, dimension=FREE)
        chosen = overrides.get(encoder.__name__, known)
        cases.append(Case(structure=structure, encoder=encoder, truth=chosen, baseline=base.name))
    return cases


def _alone(structure: FactorStructure, encoder: Encoder, truth: Truth = PERFECT) -> Case:
    """Return a case that is compared with the best possible score only."""
    return Case(structure=structure, encoder=encoder, truth=truth, baseline=f"{structure.name}/{encoder.__name__}")


def _variant(structure: FactorStructure, identity: Truth, *encoded: tuple[Encoder, Truth]) -> list[Case]:
    """Return the identity on other factors, compared with that on independent ones, and further encoders."""
    base = Case(structure=structure, encoder=encoders.identity, truth=identity, baseline=IDENTITY)
    return [base, *(Case(structure=structure, encoder=e, truth=t, baseline=base.name) for e, t in encoded)]


def _cosines() -> list[Case]:
    """Return the scenarios of the cosine experiment on dependent factors."""
    separate = Truth(explicitness=FREE)
    tied = Truth(orthogonality=FREE, independence=FALL, rank=FREE)
    loose = Truth(orthogonality=FREE, independence=FREE, rank=FREE, explicitness=FREE)
    pairs = replace(loose, modularity=FALL, compactness=FALL)
    pair = replace(loose, modularity=FALL, compactness=FREE, explicitness=FALL)
    nuisance = replace(loose, modularity=FREE, compactness=FREE, explicitness=FALL, independence=STAY)
    apart = _alone(
        structures.shuffled(structures.TIED_ANGLES),
        encoders.cosines,
        replace(PERFECT, explicitness=FREE, dimension=FREE),
    )
    base, tied_base = f"{structures.ANGLES.name}/cosines", f"{structures.TIED_ANGLES.name}/cosines"
    rows: list[tuple[FactorStructure, Encoder, Truth, str]] = [
        (structures.ANGLES, encoders.cosines, separate, IDENTITY),
        (structures.ANGLES, encoders.cosines_pair, pair, base),
        (structures.ANGLES, encoders.cosines_pairs, pairs, base),
        (structures.ANGLES, encoders.cosines_nuisance, nuisance, base),
        (structures.TIED_ANGLES, encoders.cosines, tied, apart.name),
        (structures.TIED_ANGLES, encoders.cosines_pair, pairs, tied_base),
        (structures.TIED_ANGLES, encoders.cosines_pairs, pairs, tied_base),
    ]
    return [apart, *(Case(structure=s, encoder=e, truth=t, baseline=b) for s, e, t, b in rows)]


def _hierarchy() -> list[Case]:
    """Return the cases of a concept within another, and of a feature that absorbs it."""
    loose = Truth(modularity=FREE, explicitness=FREE, orthogonality=FREE, independence=FREE, rank=FREE)
    apart = _alone(structures.shuffled(structures.HIERARCHICAL), encoders.identity)
    base = Case(structure=structures.HIERARCHICAL, encoder=encoders.identity, truth=AMBIGUOUS, baseline=apart.name)
    absorbed = replace(loose, compactness=FALL)
    return [
        apart,
        base,
        Case(structure=structures.HIERARCHICAL, encoder=encoders.absorbed, truth=absorbed, baseline=base.name),
    ]


def _wheels() -> list[Case]:
    """Return the cases of circular factors."""
    loose = replace(PERFECT, compactness=FREE, rank=FREE, independence=FREE, orthogonality=FREE)
    turned = replace(UNKNOWN, promise=Invariance.ROTATION)
    return [
        _alone(structures.CIRCULAR, encoders.wheels, loose),
        Case(structure=structures.CIRCULAR, encoder=encoders.wheels_rotated, truth=turned, baseline=WHEELS),
        Case(structure=structures.CIRCULAR, encoder=encoders.noise_normal, truth=NOTHING, baseline=WHEELS),
    ]


NOISE_ONLY = (encoders.noise_normal, NOTHING)
AMBIGUOUS = Truth(orthogonality=FREE, independence=FALL, dimension=FALL, rank=FREE)
_ROWS = [
    _alone(structures.INDEPENDENT, encoders.identity),
    *(Case(structure=structures.INDEPENDENT, encoder=e, truth=t, baseline=IDENTITY) for e, t in (*GRID, *EXTRAS)),
    *_dependent(structures.CORRELATED, Truth(independence=FALL, dimension=FALL)),
    *_dependent(structures.COPIED, AMBIGUOUS),
    # The factor that was left out is the difference of the two that stay.
    *_dependent(
        structures.COMPOSED,
        AMBIGUOUS,
        dropped=UNKNOWN,
    ),
    *_variant(
        structures.CONTINUOUS,
        SAME,
        (encoders.warped, Truth(explicitness=FREE, promise=Invariance.WARPING)),
        (encoders.mixed, MIXTURE),
        (encoders.jitter, SAME),
        NOISE_ONLY,
    ),
    *_variant(structures.FEW, SAME, NOISE_ONLY),
    *_variant(structures.MANY_VALUES, SAME, NOISE_ONLY),
    *_variant(structures.UNEVEN, SAME, NOISE_ONLY),
    *_variant(structures.ONE_LABELLED, Truth(explicitness=FREE), NOISE_ONLY),
    *_variant(
        structures.SPARSE,
        SAME,
        (encoders.sparse_codes, Truth(explicitness=FREE)),
        (encoders.split_feature, Truth(compactness=FALL, explicitness=FREE, independence=FREE, rank=FREE)),
        NOISE_ONLY,
    ),
    *_hierarchy(),
    *_wheels(),
    *_cosines(),
]

CASES: dict[str, Case] = {case.name: case for case in _ROWS}


def resolve_cases(patterns: str | Iterable[str]) -> list[Case]:
    """Return the cases behind names or patterns such as ``correlated/*``, in the table's order; ``"all"`` is all."""
    wanted = [part.strip() for part in patterns.split(",")] if isinstance(patterns, str) else list(patterns)
    chosen: set[str] = set()
    for pattern in wanted:
        found = [name for name in CASES if pattern == "all" or fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"Unknown case {pattern!r}{did_you_mean(pattern, CASES)}; see `unbraid audit --list`.")
        chosen |= set(found)
    if not chosen:
        raise ValueError("cases must name at least one case, got none; see `unbraid audit --list`.")
    return [case for name, case in CASES.items() if name in chosen]


def with_references(cases: Iterable[Case], *, of_angles: bool = False) -> list[Case]:
    """Add the baselines of ``cases``, and the cases that set the scale of a score, or of one for circular factors."""
    needed = {IDENTITY, NOISE, MIXED} | ({WHEELS, WHEELS_NOISE} if of_angles else set())
    for case in cases:
        needed |= {case.name, case.baseline, CASES[case.baseline].baseline}
    return [case for name, case in CASES.items() if name in needed]
