"""Codes of coloured digits from a VAE whose prior depends on the factors, and what its decoder can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid._torch import require_torch
from unbraid._typing import FloatArray, IntArray
from unbraid._validation import check_at_least
from unbraid.data._coloured_digits import ColouredDigits
from unbraid.reproduce._controlled_digits import all_combinations, grid_svg, seen_factors, with_factors_set

#: Prior means of the codes of digit (0 to 3), digit colour (red, green) and background colour (black, white), App. D.
PLACES = ((-10.0, -10 / 3, 10 / 3, 10.0), (-2.0, 2.0), (-2.0, 2.0))
N_STYLES, N_STYLES_DRAWN = 100, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CodesOptions:
    """The network, and how long it is trained.

    Attributes:
        n_codes: Codes, of which the first three belong to the factors.
        width: Channels of the first convolution.
        beta: Weight of the divergence from the prior. The paper does not state its own; at 100 the colours' read-out
            errors are the paper's, at 10 the other codes hold the style of the digit.
        n_steps: Batches of 128 digits to learn from.
        device: ``"cpu"`` or ``"cuda"``.
    """

    n_codes: int = 64
    width: int = 32
    beta: float = 100.0
    n_steps: int = 3000
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_at_least("n_steps", self.n_steps, 1)
        check_at_least("beta", self.beta, 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColouredCodes:
    """What one trained network gives.

    Attributes:
        codes: Posterior means of the held-out digits, ``(n, n_codes)``.
        factors: Their factors, ``(n, 3)``.
        learned_codes: The same for the digits that were learned from.
        learned_factors: Their factors.
        as_asked: For each factor, the share of generated pictures that show the value asked for.
        judge_accuracy: For each factor, how often who judges that is right about held-out pictures.
        picture: The grid of generated digits, as SVG.
    """

    codes: FloatArray
    factors: IntArray
    learned_codes: FloatArray
    learned_factors: IntArray
    as_asked: FloatArray
    judge_accuracy: FloatArray
    picture: str


def learn_codes(
    learned: ColouredDigits,
    judged: ColouredDigits,
    options: CodesOptions,
    *,
    seed: int,
    progress: bool | None = None,
) -> ColouredCodes:
    """Train on ``learned``, encode both sets, and generate digits in the styles of ``judged``."""
    require_torch("dependent-mnist, which trains a network,")
    from unbraid.models.conditioned import decode, encode, train_conditioned_vae
    from unbraid.models.training import Schedule

    pictures, held_out = _pictures(learned), _pictures(judged)
    learned_factors, factors = (data.factors(np.arange(len(data))) for data in (learned, judged))
    model, _ = train_conditioned_vae(
        pictures,
        learned_factors,
        PLACES,
        n_codes=options.n_codes,
        width=options.width,
        beta=options.beta,
        schedule=Schedule(n_steps=options.n_steps),
        device=options.device,
        seed=seed,
        progress=progress,
    )
    codes = encode(model, held_out)
    combinations = all_combinations(learned.factor_sizes)
    wanted = with_factors_set(codes[:N_STYLES], combinations, PLACES)
    flat = decode(model, wanted.reshape(-1, options.n_codes))
    generated = flat.reshape(*wanted.shape[:2], *flat.shape[1:])
    asked = np.tile(combinations, (len(wanted), 1))
    drawn = min(N_STYLES_DRAWN, len(wanted))
    return ColouredCodes(
        codes=codes,
        factors=factors,
        learned_codes=encode(model, pictures),
        learned_factors=learned_factors,
        as_asked=(seen_factors(flat, learned) == asked).mean(axis=0),
        judge_accuracy=(seen_factors(held_out, learned) == factors).mean(axis=0),
        picture=grid_svg(held_out[:drawn], generated[:drawn], learned.factor_sizes[0]),
    )


def _pictures(data: ColouredDigits) -> NDArray[np.float32]:
    return data.observations(np.arange(len(data))).astype(np.float32)
