"""Notes that several metrics share."""

import numpy as np

from unbraid.evidence.information import InformationTable


def binning_notes(table: InformationTable) -> tuple[str, ...]:
    """Say when the bins are too few for a factor's values, which caps its mutual information."""
    bins = int(table.code_bins.max())
    capped = np.flatnonzero(table.factor_levels > bins)
    if not len(capped):
        return ()
    worst = int(table.factor_levels[capped].max())
    ceiling = np.log(bins) / np.log(worst)
    return (
        f"Codes are cut into {bins} bins but a factor takes {worst} values: "
        f"no code can carry more than about {ceiling:.2f} of its entropy here; raise n_bins to lift that.",
    )


def dead_code_notes(n_dead: int) -> tuple[str, ...]:
    """Say how many constant codes were left out."""
    if not n_dead:
        return ()
    return (f"{n_dead} constant code{'s' if n_dead > 1 else ''} left out.",)
