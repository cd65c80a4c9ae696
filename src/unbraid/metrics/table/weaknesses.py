"""Weaknesses that unrelated metrics share; a weakness of one metric or family stands beside its row."""

from unbraid.metrics.table.metric import KnownFailure

SEPLIARSKAIA = "Sepliarskaia et al. (2019), arXiv:1910.05587"
ZAIDI = "Zaidi et al. (2021), arXiv:2012.09276"
ALMUDEVAR = "Almudévar et al. (2024), arXiv:2408.07016"

# Why dependent factors mislead a score, in words that follow "Factors depend on each other:".
INDIRECT_INFORMATION = (
    "a code of one factor also carries information about the factors that depend on it, which counts as a second "
    "factor in the code or as a second code of the factor."
)
SUBSTITUTE_CODE = (
    "a code of one factor also predicts the factors that depend on it, so a factor can score high without a code of "
    "its own."
)

# Known failures in cases of the audit.
ONE_PAIR_AT_A_TIME = KnownFailure(
    cases=("correlated/identity", "copied/identity", "composed/identity", "tied_angles/cosines"),
    sentence="It examines one code and one factor at a time, and takes dependence between factors for entanglement.",
    source=ALMUDEVAR,
)
COUNTS_UNUSED_CODES = KnownFailure(
    cases=("*/noise_code", "*/many_noise_codes", "*/nuisance_code", "angles/cosines", "*_shuffled/cosines"),
    sentence="It is a mean over codes in which every code counts alike, including a code that encodes no factor.",
    source=ALMUDEVAR,
)
MISSES_LOST_FACTORS = KnownFailure(
    cases=("*/dropped",), sentence="It is a mean over codes, so a factor without a code does not lower it."
)
LINEAR_RELATIONS_ONLY = KnownFailure(
    cases=("*/bent_copy",),
    sentence="It detects linear relations only, so it misses the second copy of a factor when the copy is bent.",
    source=SEPLIARSKAIA,
)
MIXES_DEPENDENT_FACTORS = KnownFailure(
    cases=("tied_angles/cosines_pair*",),
    sentence="A code that mixes factors which depend on each other hardly moves while either of them is held fixed.",
)
OUTLIERS = KnownFailure(
    cases=("*/outlier",),
    sentence="It depends on squared deviations or on the largest deviation, in which one distant row outweighs all "
    "other rows.",
)
TOO_FEW_BINS = KnownFailure(
    cases=("many_values/*",),
    sentence="Twenty bins cannot represent a hundred values, and the bias of counts grows with the number of cells.",
    source=ZAIDI,
)
BIN_EDGES = KnownFailure(
    cases=("*/jitter", "*/warped", "continuous/*", "few_rows/*", "*/cosines"),
    sentence="Counts in bins depend on where the edges fall: noise moves rows across edges, a bent code fills bins "
    "unevenly, and few rows in a bin bias the estimate upwards.",
    source=ZAIDI,
)
UNLABELLED_VARY = KnownFailure(
    cases=("one_labelled/*",),
    sentence="Factors without labels vary between rows that are taken to differ in one factor only.",
)
