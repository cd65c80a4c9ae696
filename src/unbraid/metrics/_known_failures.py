"""Why metrics fail where they do, as far as the reason is known."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

SEPLIARSKAIA = "Sepliarskaia et al. (2019), arXiv:1910.05587"
ZAIDI = "Zaidi et al. (2021), arXiv:2012.09276"
ALMUDEVAR = "Almudévar et al. (2024), arXiv:2408.07016"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why some metrics fail in some cases.

    Attributes:
        metrics: Names or patterns.
        cases: Names or patterns.
        says: The reason, in a sentence or two.
        source: Who described it first, where somebody did.
    """

    metrics: tuple[str, ...]
    cases: tuple[str, ...]
    says: str
    source: str = ""

    def covers(self, metric: str, case: str) -> bool:
        """Tell whether this is about a metric in a case."""
        return _matches(metric, self.metrics) and _matches(case, self.cases)


BINNED = ("mig", "mig_sup", "jemmig", "dcimig", "modularity", "infomec.modularity", "infomec.compactness")
LINES = ("sap", "mcc", "r2", "dci_linear.*", "total_correlation", "wasserstein_correlation", "infomec.explicitness")
TREES = ("dci_forest.*", "dci_boosting.*")
MIXTURES = ("*/mixed", "*/mixed_wide", "*/leaky", "*/rotated", "*/two_factors_per_code", "*/cosines_pair*")
TIED = ("correlated/identity", "copied/identity", "composed/identity", "tied_angles/cosines")
EXTRA_CODES = ("*/noise_code", "*/many_noise_codes", "*/nuisance_code", "angles/cosines", "*_shuffled/cosines")

REASONS = (
    Reason(
        metrics=("dci_es.size",),
        cases=("*",),
        says="It counts codes and factors, whatever the codes hold.",
    ),
    Reason(
        metrics=("dci_es.explicitness",),
        cases=("*/noise_*", "*_shuffled/*", "*/dropped"),
        says="What cannot be read at any capacity is not read late either: the curve is flat, and the score 1. Read it "
        "beside informativeness.",
    ),
    Reason(
        metrics=("dependent.compactness",),
        cases=("*/noise_*", "*_shuffled/*"),
        says="It compares what one code tells with what all tell. Where none tells anything, both are blind guesses, "
        "which differ only by how far the forests over-fit.",
        source=ALMUDEVAR,
    ),
    Reason(
        metrics=("z_diff", "z_min_var"),
        cases=MIXTURES,
        says="Which factor is fixed can be told although every code moves with several factors, as long as the "
        "pattern of movement differs from factor to factor.",
        source=f"{SEPLIARSKAIA}; {ZAIDI}",
    ),
    Reason(
        metrics=("modularity", "infomec.modularity", "mig_sup", "irs"),
        cases=EXTRA_CODES,
        says="It is a mean over codes in which every code counts alike, also one that is about no factor.",
        source=ALMUDEVAR,
    ),
    Reason(
        metrics=("modularity",),
        cases=("*/noise_*",),
        says="It divides by the largest entry of each code, so that in noise the largest bias looks like a preference.",
        source=ZAIDI,
    ),
    Reason(
        metrics=("modularity",),
        cases=("*/cosines_pair",),
        says="It squares the information a code has about its other factors, which makes little of a weaker one.",
        source=ZAIDI,
    ),
    Reason(
        metrics=("sap", "mcc"),
        cases=("*/bent_copy",),
        says="It looks for straight lines, and does not see the bent second copy of the factor.",
        source=SEPLIARSKAIA,
    ),
    Reason(
        metrics=("mcc",),
        cases=("*/duplicated", "*/several_views"),
        says="It matches one code to each factor and does not look at the codes that are left over.",
    ),
    Reason(
        metrics=("mcc",),
        cases=("tied_angles/cosines_pair*",),
        says="A code that mixes factors which depend on each other still correlates with each of them.",
    ),
    Reason(
        metrics=("dci_forest.informativeness",),
        cases=("*/mixed*",),
        says="Trees cut along codes, and follow a slanting boundary in steps that take many rows.",
    ),
    Reason(
        metrics=("infomec.compactness",),
        cases=("*/many_noise_codes",),
        says="It divides by the information in all codes, and the bias of many noise codes adds up.",
    ),
    Reason(
        metrics=("dci_*.completeness",),
        cases=("*/duplicated", "*/several_views", "*/bent_copy"),
        says="A probe that has one copy needs no other, so the others get no importance.",
    ),
    Reason(
        metrics=(*BINNED, "sap", "z2", "z_min_var"),
        cases=TIED,
        says="It looks at one code and one factor at a time, and takes dependence between factors for entanglement.",
        source=ALMUDEVAR,
    ),
    Reason(
        metrics=TREES,
        cases=("copied/identity", "copied/scaled"),
        says="Where one code tells two factors, a tree may split on either of two codes, and the order of the codes "
        "breaks the tie.",
    ),
    Reason(
        metrics=("dci_linear.*",),
        cases=("*/warped", "*/circles", "tied_angles/*"),
        says="A bent code is only partly a straight line of its factor, and the probe makes up the rest from the codes "
        "of factors that depend on it.",
    ),
    Reason(
        metrics=("dci_*.disentanglement",),
        cases=("*/cosines_pair",),
        says="A code that no probe needs has no importance, so that what it mixes goes unseen.",
    ),
    Reason(
        metrics=("explicitness",),
        cases=("*/noise_*",),
        says="It is an area under the ROC curve, for which chance is a half; normalised=True moves that to 0.",
    ),
    Reason(
        metrics=("explicitness",),
        cases=("*/identity",),
        says="One line for each value cannot single out a value in the middle of others, and how many are in the "
        "middle depends on the number of values.",
    ),
    Reason(
        metrics=("infomec.explicitness",),
        cases=("*/identity", "*/mixed*"),
        says="A linear classifier singles out values in the middle of others only with steep slopes, which take many "
        "rows, and mixing makes them steeper.",
    ),
    Reason(
        metrics=(*LINES, "z1", "z2", "irs"),
        cases=("*/outlier",),
        says="It rests on squared deviations, or on the largest one, in which one far row outweighs all others.",
    ),
    Reason(
        metrics=(*BINNED, "code_mutual_information"),
        cases=("many_values/*",),
        says="Twenty bins cannot hold a hundred values, and the bias of counts grows with the number of cells.",
        source=ZAIDI,
    ),
    Reason(
        metrics=(*BINNED, "code_mutual_information"),
        cases=("*/jitter", "*/warped", "continuous/*", "few_rows/*", "*/cosines"),
        says="Counts in bins depend on where the edges fall: noise moves rows over them, bends make them uneven, and "
        "few rows in a bin are biased upwards.",
        source=ZAIDI,
    ),
    Reason(
        metrics=("irs",),
        cases=("*/jitter", "continuous/*", "*/noise_*"),
        says="It takes the largest deviation within each cell of factor values: noise raises it, and a cell with few "
        "rows hardly has one.",
    ),
    Reason(
        metrics=("irs", "mig_sup"),
        cases=("*/dropped",),
        says="It is a mean over codes, and a factor without a code is not missed.",
    ),
    Reason(
        metrics=("z1", "z2"),
        cases=("few_rows/*", "many_values/*", "continuous/*", "*/cosines"),
        says="Variances within few rows for each value scatter, and it prices the smallest.",
    ),
    Reason(
        metrics=("z2",),
        cases=("correlated/*", "composed/*", "tied_angles/*"),
        says="It charges a code for every factor it notices; where factors depend on each other, a faithful code "
        "notices several, and bent or weaker codes are charged less.",
    ),
    Reason(
        metrics=("total_correlation", "wasserstein_correlation"),
        cases=("*/circles", "*/rotated", "*/bent_copy"),
        says="It reads covariances, and does not see dependence that is not a straight line.",
    ),
    Reason(
        metrics=("code_mutual_information", "total_correlation"),
        cases=("*/many_noise_codes", "*/nuisance_mixed"),
        says="Its estimate for independent codes is above 0, and grows with bins or codes.",
    ),
    Reason(
        metrics=("iwr",),
        cases=("*/mixed", "*/leaky", "*/two_factors_per_code"),
        says="It counts the axes a factor needs and does not look at angles between factors; that is for `iwo` to say.",
    ),
    Reason(
        metrics=("orthogonality",),
        cases=("*",),
        says="It counts every axis alike, also one that a factor hardly uses and that chance may add or leave out.",
        source="Geyer et al. (2024), arXiv:2407.03728",
    ),
    Reason(
        metrics=("iwo", "iwr"),
        cases=("*/warped", "*/circles"),
        says="Where factors depend on each other, codes of other factors help to fit what is bent in a factor's own.",
    ),
    Reason(
        metrics=("z_diff",),
        cases=("few_rows/noise_*",),
        says="With few rows, the pairs it learns from and those it is judged on are made of the same rows.",
    ),
    Reason(
        metrics=("z_min_var",),
        cases=("copied/*", "composed/*"),
        says="Fixing one factor all but fixes another that depends on it, so that votes go to the wrong one.",
    ),
)


def reason(metric: str, case: str) -> str:
    """Return why a metric fails in a case, with who said so first, or nothing if that is not known."""
    found = [item for item in REASONS if item.covers(metric, case)]
    return " ".join(item.says + (f" ({item.source})" if item.source else "") for item in found)


def known_reasons(failures: Iterable[tuple[str, str]]) -> list[tuple[Reason, list[str], list[str]]]:
    """Return the reasons that apply to failures, each with the metrics and cases it explains."""
    pairs = list(failures)
    found = [(item, [pair for pair in pairs if item.covers(*pair)]) for item in REASONS]
    return [
        (item, list(dict.fromkeys(m for m, _ in hits)), list(dict.fromkeys(c for _, c in hits)))
        for item, hits in found
        if hits
    ]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
