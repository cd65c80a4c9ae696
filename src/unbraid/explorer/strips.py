"""Strips of a decoder along the axes of the factors, for the report."""

from __future__ import annotations

import numpy as np

from unbraid.explorer.decoding import PictureDecoder
from unbraid.explorer.subject import Subject
from unbraid.representation.representation import Representation
from unbraid.results.report import Report
from unbraid.results.strips import FactorStrips

N_STEPS = 9


def factor_strips(
    rep: Representation, report: Report, decoder: PictureDecoder, *, n_steps: int = N_STEPS
) -> FactorStrips:
    """Decode the row in the middle, moved along each axis of each factor while the other coordinates stay.

    Where the report has importances of DCI, each factor's strips are followed by one along the single code that matters
    most for it (Fig. 3 of Geyer et al. 2024, https://arxiv.org/abs/2407.03728).

    Args:
        rep: Codes and factors.
        report: Their report, whose axes are taken where it has them.
        decoder: Of the codes, to pictures.
        n_steps: Pictures in a strip.

    Raises:
        ValueError: The decoder's outputs are no pictures, or no axes can be found.
    """
    subject = Subject("m0", "", rep=rep, decoder=decoder, report=report)
    sliders, axes = subject.sliders(), subject.axes()
    if not axes:
        raise ValueError("strips along factors need factors, and more than twice as many labelled rows as codes.")
    start, codes = np.array(sliders["start"]), report.best_codes()
    labels, strips = [], []
    for place, axis in enumerate(axes):
        to = np.linspace(axis["low"], axis["high"], n_steps)
        by = to - float(start @ np.array(axis["axis"]))
        labels.append(axis["label"])
        strips.append(decoder.pictures(start + by[:, None] * np.array(axis["move"])))
        is_last = place + 1 == len(axes) or axes[place + 1]["factor"] != axis["factor"]
        if codes and is_last:
            code = codes[axis["factor"]]
            moved = np.tile(start, (n_steps, 1))
            moved[:, code] = np.linspace(sliders["low"][code], sliders["high"][code], n_steps)
            labels.append(f"{rep.factor_names[axis['factor']]}, best code {rep.code_names[code]}")
            strips.append(decoder.pictures(moved))
    return FactorStrips(labels=tuple(labels), pictures=np.stack(strips))
