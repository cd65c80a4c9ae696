"""Words that the rows of the table share."""

from unbraid.metrics._metric import Invariance, Property

MODULARITY, COMPACTNESS, EXPLICITNESS, ORTHOGONALITY, INDEPENDENCE = Property
PERMUTATION, SCALING, WARPING, ROTATION = Invariance
AXES = frozenset({PERMUTATION, SCALING})

FIXED_TOGETHER = "to fix one is to hold the others back too, so a code of either stands still and none is told apart."
KNOWN_THROUGH = "a code of one factor also tells of the other, which counts as a second factor or a second code."
STANDS_IN = "a code of one factor can stand in for the other, whose own code may be missing."
DIVIDED = "a probe may lean on the codes of either, so importances are divided by chance and not by what codes hold."
SHARED_AXES = "the directions of one partly predict the other, so that their subspaces overlap though the codes do not."
TIED_CODES = "faithful codes then depend on each other as well, so a low score is not to be wished for."
