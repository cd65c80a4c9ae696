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

    Args:
        rep: Codes and factors.
        report: Their report, whose axes are taken where it has them.
        decoder: Of the codes, to pictures.
        n_steps: Pictures in a strip.

    Raises:
        ValueError: The decoder's outputs are no pictures, or no axes can be found.
    """
    subject = Subject("m0", "", rep=rep, decoder=decoder, report=report)
    start, axes = np.array(subject.sliders()["start"]), subject.axes()
    if not axes:
        raise ValueError("strips along factors need factors, and more than twice as many labelled rows as codes.")
    strips = []
    for axis in axes:
        to = np.linspace(axis["low"], axis["high"], n_steps)
        by = to - float(start @ np.array(axis["axis"]))
        strips.append(decoder.pictures(start + by[:, None] * np.array(axis["move"])))
    return FactorStrips(labels=tuple(axis["label"] for axis in axes), pictures=np.stack(strips))
