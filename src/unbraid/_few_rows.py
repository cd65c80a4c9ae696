"""How many rows a panel of scores needs, and what to say where there are few."""

from unbraid.factor import FactorKind
from unbraid.representation import Representation

#: Held-out probes refuse fewer rows than the first; below the second, no score is worth reading; below the third, all
#: are noisy, whatever the codes and factors.
FEWEST_ROWS, MEANINGLESS_BELOW, FEW_BELOW = 10, 50, 100
ROWS_A_CODE = ROWS_A_BIN = 10


def check_rows(rep: Representation) -> None:
    """Raise where there are too few rows for intervals and probes of any kind."""
    if rep.n_samples < FEWEST_ROWS:
        raise ValueError(
            f"codes must have at least {FEWEST_ROWS} rows to be evaluated, got {rep.n_samples}: most scores cannot be "
            f"computed on fewer, and none means much on fewer than {MEANINGLESS_BELOW}; give hundreds."
        )


def few_rows_note(rep: Representation, n_bins: int) -> list[str]:
    """Say when rows are fewer than a hundred, or than ten for each code or each bin of a continuous factor."""
    binned = any(factor.kind is FactorKind.CONTINUOUS for factor in rep.factors)
    wanted = max(ROWS_A_CODE * rep.n_codes, ROWS_A_BIN * n_bins if binned else 0, FEW_BELOW)
    labelled = {factor.name: int(factor.labelled.sum()) for factor in rep.factors}
    rows = min((rep.n_samples, *labelled.values()))
    scarce = next((name for name, count in labelled.items() if count == rows), "")
    where = f" with a label for {scarce}" if rows < rep.n_samples else ""
    if rows >= wanted:
        return []
    if rows < MEANINGLESS_BELOW:
        return [f"Only {rows} rows{where}: scores, intervals and findings mean little here. Give at least {wanted}."]
    return [
        f"Few rows ({rows}{where}): scores are noisy, and even perfect codes may score far from the best. "
        f"Give at least {wanted}: ten for each code and each bin of a continuous factor, at least {FEW_BELOW}."
    ]
