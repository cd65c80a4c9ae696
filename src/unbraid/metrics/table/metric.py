"""The row of a metric, the source of its evidence, and the parts of both."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from inspect import signature
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from unbraid._base.checks import check_choice
from unbraid._base.workers import Workers
from unbraid.evidence.information import InformationTable
from unbraid.representation.factor import FactorKind
from unbraid.representation.representation import Representation
from unbraid.results.note import Note, NoteKind
from unbraid.results.score import Score


class Property(StrEnum):
    """Property of a representation that a score measures."""

    MODULARITY = "modularity"
    COMPACTNESS = "compactness"
    EXPLICITNESS = "explicitness"
    ORTHOGONALITY = "orthogonality"
    INDEPENDENCE = "independence"
    DIMENSION = "dimension"


class Invariance(StrEnum):
    """Changes of the codes that leave a score unchanged."""

    PERMUTATION = "permutation"
    SCALING = "scaling"
    WARPING = "warping"
    ROTATION = "rotation"


class Preset(StrEnum):
    """Panel of metrics for one kind of user, by name beside ``default`` and ``all``."""

    VAE = "vae"
    IDENTIFIABILITY = "identifiability"
    EMBEDDINGS = "embeddings"
    SPARSE = "sparse"
    SINGLE_CELL = "single-cell"

    @property
    def purpose(self) -> str:
        """Who asks for it, in a few words."""
        return PURPOSES[self]


PURPOSES = {
    Preset.VAE: "the scores that papers on disentanglement report, of codes against known factors",
    Preset.IDENTIFIABILITY: "recovery of the factors up to a class of maps, as in causal representation learning",
    Preset.EMBEDDINGS: "features of self-supervised models, by the directions they use and the factors they predict",
    Preset.SPARSE: "wide sparse codes against labelled concepts, as of sparse autoencoders",
    Preset.SINGLE_CELL: "latents of cells against cell types and batches, whose values have no order",
}


#: Invariances of most scores that treat codes one at a time.
AXES = frozenset({Invariance.PERMUTATION, Invariance.SCALING})


class Trait(StrEnum):
    """How a score is computed, where an explanation of a low score depends on it."""

    COUNTS_AXES_ALIKE = "counts every axis of a subspace alike, whatever its weight"
    SUMS_OVER_CODES = "divides by a sum over all codes"


class Cost(StrEnum):
    """Rough time at 10 000 rows, 10 codes and 5 factors, without intervals."""

    INSTANT = "under 0.1 s"
    QUICK = "under 1 s"
    SECONDS = "seconds"
    MINUTE = "up to a minute"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSize:
    """Sizes of a representation, as far as the memory of its evidence depends on them.

    Attributes:
        n_rows: Number of rows.
        n_codes: Number of codes.
        n_factors: Number of factors.
        n_levels: Most values of a factor whose values are classes or bins.
        stored_share: Share of the codes that are stored: those that are not 0, where codes are sparse.
    """

    n_rows: int
    n_codes: int
    n_factors: int
    n_levels: int
    stored_share: float = 1.0

    @property
    def n_values(self) -> int:
        """Codes that are stored, over all rows."""
        return round(self.stored_share * self.n_rows * self.n_codes)

    @property
    def n_bytes(self) -> int:
        """Codes and factors as floats."""
        return 8 * (self.n_values + self.n_rows * self.n_factors)

    def of_rows(self, n_rows: int) -> "InputSize":
        """Return the sizes with fewer rows."""
        return replace(self, n_rows=min(n_rows, self.n_rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One kind of evidence: its function, and the method of its confidence intervals.

    Attributes:
        name: Short name, part of the seed of its random numbers.
        gather: ``(representation, options, rng) -> evidence``; ``(..., workers)`` where ``uses_workers``.
        options: Frozen dataclass of the options, with defaults.
        n_replicates: Number of replicates of the evidence for a confidence interval.
        n_nulls: Number of shuffles over which the null is averaged.
        resample: ``(representation, options, n_resamples=, rng=) -> [evidence]``, where evidence can be drawn that
            scatters as that of as many fresh rows; otherwise the panel refits on random halves of the rows.
        redraw: ``(evidence, n_resamples=, rng=) -> [evidence]``, where refits would be too dear and what was fitted
            is measured again on other draws of the held-out rows.
        follows: Whether ``gather`` takes ``like``, the evidence of all rows: evidence of a part of the rows then keeps
            what only all rows can decide, such as the number of axes.
        lighten: Options to use for replicates and nulls, where a lighter fit estimates the spread as well. Where scores
            are extrapolated, all rows are fitted once more so: lighter fits may have a bias of their own.
        max_replicate_rows: Replicates and nulls use at most this many rows.
        max_null_rows: Nulls use at most this many rows, where the chance level hardly depends on their number.
        extrapolates: Scores depend on the number of rows, with a bias that falls as one over their number: the panel
            extrapolates the score to many rows, from the score of all rows and the mean of its replicates on halves.
        way: ``(n_rows, n_codes) -> anything``: which of several ways evidence is gathered, where this depends on the
            size; from parts that are gathered in another way than all rows, no score is extrapolated.
        as_published: ``(options, options of the score) -> bool``: whether they ask for a published formula, which is
            not extrapolated.
        bias_order: Where the score is extrapolated, the power of one over the number of rows with which its bias falls.
        fitted_share: Share of the rows that each fit of least squares to all codes sees, where scores are of such fits:
            their bias falls as the number of codes over the rows fitted beyond that number.
        slowest_bias_order: The least power with which the bias may fall, where it is not known exactly: the confidence
            interval covers what the score is extrapolated to with either power.
        fastest_bias_order: The same for the largest power.
        covers_limit: The score is left as it is on the rows given, and its confidence interval covers the extrapolated
            score too: where the bias is small, or falls with a power that is not known.
        label_free: Computed from the codes only; its null shuffles each code instead of the factors.
        seconds: CPU seconds at 2 000 and at 20 000 rows, for codes of ten columns and the factors of dSprites; studies
            estimate their cost from it, and ``benchmarks/study.py`` measures it.
        once: CPU seconds of gathering once at 10 000 rows of ten codes and five factors, and the power of the number of
            codes with which they grow; the panel estimates its time from them, within a factor of a few.
        uses_workers: Can gather in several threads at once.
        is_compiled: Spends most of its time in compiled code that lets other threads of Python run meanwhile.
        memory: ``(size, options) -> bytes``: peak memory of gathering the evidence once, beside the input, within a
            factor of about two; ``benchmarks/limits.py`` measures it.
    """

    name: str
    gather: Callable[..., Any]
    options: type[Any]
    n_replicates: int
    n_nulls: int
    seconds: tuple[float, float]
    memory: Callable[[InputSize, Any], float]
    once: tuple[float, float] = (0.1, 1.0)
    resample: Callable[..., Iterable[Any]] | None = None
    redraw: Callable[..., list[Any]] | None = None
    lighten: Callable[[Any], Any] | None = None
    max_replicate_rows: int | None = None
    max_null_rows: int | None = None
    extrapolates: bool = False
    way: Callable[[int, int], object] | None = None
    as_published: Callable[[Any, Mapping[str, Any]], bool] | None = None
    bias_order: float = 1.0
    fitted_share: float | None = None
    slowest_bias_order: float | None = None
    fastest_bias_order: float | None = None
    covers_limit: bool = False
    label_free: bool = False
    uses_workers: bool = False
    is_compiled: bool = False
    follows: bool = False

    def evidence(
        self, rep: Representation, options: Any, rng: np.random.Generator, workers: Workers, like: Any = None
    ) -> Any:
        """Gather the evidence in no more threads than the budget of ``workers`` allows."""
        named = {} if like is None else {"like": like}
        return self.gather(rep, options, rng, *((workers,) if self.uses_workers else ()), **named)

    def extrapolated_with(self, options: Any, of_score: Mapping[str, Any]) -> bool:
        """Return whether scores with these options are extrapolated to many rows."""
        return self.extrapolates and not (self.as_published is not None and self.as_published(options, of_score))

    @property
    def interval_method(self) -> str:
        """Method of the confidence interval, in words."""
        if self.resample is not None:
            return f"counts of {self.n_replicates} random halves of the rows"
        if self.redraw is not None:
            return f"{self.n_replicates} bootstraps of the held-out rows, without fitting again"
        return f"{self.n_replicates} refits on random halves of the rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFactor:
    """Quantities on which the largest attainable score of one factor depends.

    Attributes:
        kind: Its kind.
        levels: Number of its values; ``None`` for a continuous factor.
        n_rows: Number of rows scored; 0 where unknown.
        options: Options of the metric.
    """

    kind: str
    levels: int | None
    n_rows: int
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingRule:
    """The largest score that perfect codes attain, one code for each factor.

    Attributes:
        of: Largest score of one factor whose values are about equally common.
        why: The reason, in words that follow "because".
    """

    of: Callable[[OneFactor], float]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """Why a metric fails in some cases of the audit.

    Attributes:
        cases: Names of cases, or patterns of names.
        sentence: The reason, in a sentence or two.
        source: The paper that described it first, where there is one.
    """

    cases: tuple[str, ...]
    sentence: str
    source: str = ""

    def covers(self, case: str) -> bool:
        """Return whether this explains a failure in a case."""
        return any(fnmatchcase(case, pattern) for pattern in self.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row of the table, used by the panel, command line, report, docs and tests.

    Attributes:
        name: Registry name; ``family.headline`` where a family has several.
        title: Spelled out.
        function: Public function; it returns a :class:`~unbraid.Score`, or a tuple of them named by headline.
        source: Its kind of evidence.
        score: Pure function from evidence to score; takes the options that ``source`` does not.
        measures: Properties it measures.
        bounds: Lowest and highest possible value.
        higher_is_better: Direction.
        invariant_to: Changes of the codes that leave it as it is; a promise that the tests check both ways.
        tolerance: Tolerance of invariances, for fitted probes.
        min_factors: Fewest factors the definition covers.
        factor_kind: The kind of factor that it is for, at least one of which there must be; ``None`` for any kind.
        cost: Rough time.
        reference: Where it was published.
        summary: One plain sentence.
        misled_by_dependence: Why the score misleads when factors depend on each other; empty where it does not.
        replaces_under_dependence: Properties whose misleading scores this one replaces when factors depend on each
            other.
        ceiling: Largest attainable score, where it can lie below the best value.
        known_failures: Why it fails in cases of the audit, in the order in which reasons are given.
        traits: How it is computed, where an explanation of a low score depends on it.
        extrapolates: Whether the panel extrapolates the score to many rows where the source says so.
        falls_with_rows: Whether the score of few rows can be too high only, so that it is not extrapolated upwards.
        drawn_fit: Whether most of the spread between replicates is chance in the fit (folds, trees) rather than in the
            rows: the extrapolated score magnifies that of the fit to all rows, and its interval is wider.
        pair_caption: Caption of its map of factor pairs, for a score whose evidence has such a matrix under the name of
            the metric.
        other_names: Names in other libraries.
        in_default: Whether the default panel runs it; otherwise it must be asked for by name.
        with_blocks: Whether the default panel runs it where the codes have blocks.
        presets: Further panels that it is part of.
        has_null: Whether the score of shuffled factors is the chance level.
    """

    name: str
    title: str
    function: Callable[..., Any]
    source: Source
    score: Callable[..., Score]
    measures: tuple[Property, ...]
    summary: str
    reference: str
    bounds: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    invariant_to: frozenset[Invariance] = frozenset()
    tolerance: float = 1e-9
    min_factors: int = 1
    factor_kind: FactorKind | None = None
    cost: Cost = Cost.INSTANT
    misled_by_dependence: str = ""
    replaces_under_dependence: tuple[Property, ...] = ()
    ceiling: CeilingRule | None = None
    known_failures: tuple[KnownFailure, ...] = ()
    traits: frozenset[Trait] = frozenset()
    extrapolates: bool = True
    falls_with_rows: bool = False
    drawn_fit: bool = False
    pair_caption: str = ""
    other_names: tuple[str, ...] = ()
    in_default: bool = True
    with_blocks: bool = False
    presets: frozenset[Preset] = frozenset()
    has_null: bool = True

    @property
    def family(self) -> str:
        """The part of the name before the dot."""
        return self.name.partition(".")[0]

    def why_it_fails(self, case: str) -> str:
        """Return why it fails in a case of the audit and who described that first; empty where no reason is known."""
        found = [failure for failure in self.known_failures if failure.covers(case)]
        return " ".join(item.sentence + (f" ({item.source})" if item.source else "") for item in found)

    @property
    def option_names(self) -> tuple[str, ...]:
        """Options the panel can set: those of its evidence, then those of the score itself."""
        return (*self._evidence_options, *self._score_options)

    @property
    def _evidence_options(self) -> tuple[str, ...]:
        # A sampler draws new codes, which shuffled factors do not change, so there would be no null.
        return tuple(field.name for field in fields(self.source.options) if field.name != "sampler")

    @property
    def _score_options(self) -> tuple[str, ...]:
        return tuple(list(signature(self.score).parameters)[1:])

    def check_score_option(self, key: str, value: Any) -> None:
        """Raise on an invalid value of an option, before any evidence is gathered."""
        hint = get_type_hints(self.score).get(key) if key in self._score_options else None
        if get_origin(hint) is Literal:
            check_choice(f"option {key} of {self.name}", value, get_args(hint))

    def split_options(self, values: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Divide options between the evidence and the score; those of other metrics are passed over."""
        evidence = {key: value for key, value in values.items() if key in self._evidence_options}
        score = {key: value for key, value in values.items() if key in self._score_options}
        return self.source.options(**evidence), score


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideThePanel:
    """A function of ``unbraid.metrics`` that is no row of the table, as its input or result is not that of the panel.

    Attributes:
        name: Name of the function.
        summary: Its question.
        needs: Its input.
        call: Example of a call.
        also: Where else its result is found.
    """

    name: str
    summary: str
    needs: str
    call: str
    also: str


def not_one_number(name: str, fields: tuple[str, ...]) -> TypeError:
    """Return the error for ``float()`` of a family, which names its scores.

    Example:
        >>> print(not_one_number("Pair", ("low", "high")))
        Pair has 2 scores, so it is not one number; take one of them, as in .low: low, high.
    """
    return TypeError(
        f"{name} has {len(fields)} scores, so it is not one number; "
        f"take one of them, as in .{fields[0]}: {', '.join(fields)}."
    )


def binning_notes(table: InformationTable) -> tuple[str, ...]:
    """Return notes on factors with more values than bins, which bounds their mutual information."""
    bins = int(table.code_bins.max())
    capped = np.flatnonzero(table.factor_levels > bins)
    if not len(capped):
        return ()
    worst = int(table.factor_levels[capped].max())
    ceiling = np.log(bins) / np.log(worst)
    template = (
        "Codes are cut into {} bins but a factor takes {} values: "
        "no code can encode more than about {} of its entropy here; raise n_bins to lift that."
    )
    return (Note.of(NoteKind.METRIC, template, bins, worst, f"{ceiling:.2f}"),)


def dead_code_notes(n_dead: int) -> tuple[str, ...]:
    """Return a note on constant codes, which were left out."""
    if not n_dead:
        return ()
    template = "{} constant codes left out." if n_dead > 1 else "{} constant code left out."
    return (Note.of(NoteKind.METRIC, template, n_dead),)
