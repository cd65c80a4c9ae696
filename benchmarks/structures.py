"""Random representations whose structure is known, with the findings that are true of each.

A representation is put together from blocks: a block draws one to three factors and the codes that encode the factors,
all else in the world being independent of both. ``make(seed)`` picks blocks, the number of rows, codes of noise and
dead codes, shuffles columns, and returns codes and factors with the claims that a diagnosis must make and may make;
every other claim is false.

The truth of a claim is that of the mechanism, not of the rows drawn:

=============  =====================================================================================================
claim          true where
=============  =====================================================================================================
own code       the code is a function of the factor and noise, the factor is read to 0.6 or more, no other code has
               the factor, and no other factor has 0.05 of the code; expected from 0.85 on
rotated        codes are an orthogonal matrix times just these factors, no entry small
mixed          these factors (or some of them) share these codes by a matrix that is not orthogonal, or by a product
packed         one code is a function of just these factors
circle         the two codes are cosine and sine of the angle
spread         no code has 0.8 of the factor, all codes together have the factor
copied         each of exactly these codes alone has the factor
curved         the factor is a function of the codes, of which a line follows less than 0.7
folded         the code is a function of the factor that loses the sign
partly         codes have between 0 and 0.75 of the factor (R², or accuracy beyond guessing); expected from 0.25 to
               0.55; the codes named, where one factor is, are some of the factor's
lost           codes have at most 0.05 of the factor; expected where they have nothing
empty code     the code has at most 0.05 of any factor; expected where it has nothing and some factor is read well
dead code      the code is constant
=============  =====================================================================================================

Below ``ENOUGH`` rows nothing is expected, and nothing more is allowed, but that rotated factors may be called mixed: so
few rows show that codes are shared, not the angles. Claims about sharing (rotated, mixed, packed) of
factors that depend on each other are false where each has its own code, as are copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from blocks import (
    Block,
    Claim,
    Kind,
    angle_in_a_code,
    circle,
    claim,
    copied,
    curved,
    dependent,
    faded,
    folded,
    leaking,
    lost,
    mixed,
    mixed_category,
    noisy_copies,
    own,
    own_and_folded,
    packed,
    partly,
    product,
    rotated,
    rotated_and_copied,
    rotated_and_dependent,
    spread,
    weak,
)
from unbraid import Finding, Representation

#: From this many rows on, what is true is expected to be found.
ENOUGH = 400


def claims_of(findings: tuple[Finding, ...]) -> list[Claim]:
    """Take findings apart: a finding that lists factors or codes one by one makes a claim of each."""
    claims = []
    for item in findings:
        if item.kind is Kind.OWN:
            pairs = zip(item.factors, item.codes, strict=True)
            claims += [claim(item.kind, factor, code) for factor, code in pairs]
        elif item.kind in (Kind.EMPTY, Kind.DEAD):
            claims += [claim(item.kind, "", code) for code in item.codes]
        elif item.kind in (Kind.PARTLY, Kind.LOST):
            codes = item.codes if len(item.factors) == 1 else ()  # of several factors, codes are listed together
            claims += [claim(item.kind, factor, " ".join(codes)) for factor in item.factors]
        else:
            claims.append(Claim(kind=item.kind, factors=frozenset(item.factors), codes=frozenset(item.codes)))
    return claims


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A representation and what is true of it."""

    rep: Representation
    structures: tuple[str, ...]
    must: tuple[Claim, ...]
    may: tuple[Claim, ...]
    block_of: dict[str, str]

    def is_true(self, made: Claim) -> bool:
        """Tell whether a claim is true."""
        return any(made.within(known) for known in (*self.must, *self.may))

    def is_made(self, wanted: Claim, claims: list[Claim]) -> bool:
        """Tell whether a claim is among those made, factors that are mixed in one claim or several."""
        if wanted.kind is Kind.MIXED:
            covered = [made.factors for made in claims if made.within(wanted)]
            return frozenset().union(*covered) == wanted.factors
        return any(made.within(wanted) for made in claims)

    def structure_of(self, made: Claim) -> str:
        """Return the structures that a claim is about."""
        return "+".join(sorted({self.block_of[name] for name in (*made.factors, *made.codes)}))


BLOCKS = (
    *(own, rotated, mixed, leaking, copied, spread, folded, curved, circle, packed, partly, weak, faded, product, lost),
    *(dependent, dependent),
)
COMBINED = (rotated_and_copied, own_and_folded, noisy_copies, rotated_and_dependent, mixed_category, angle_in_a_code)
#: Structures of which no factor may be read well enough to show its codes.
NOT_READ_WELL = {
    "noisy copies",
    "angle in a code",
    "lost",
    "weak",
    "partly",
    "faded",
    "folded",
    "product",
    "empty",
    "dead",
}


def make(seed: int) -> World:
    """Return a random representation with its truth."""
    rng = np.random.default_rng([20, seed])
    few = rng.random() < 0.2
    rows = int(rng.integers(60, 250) if few else rng.integers(ENOUGH, 1001))
    parts = [_renamed(block, place) for place, block in enumerate(_some_blocks(rng))]
    combined = np.random.default_rng([21, seed])
    if combined.random() < 0.25:
        parts.append(_renamed(COMBINED[int(combined.integers(len(COMBINED)))](combined), len(parts)))
    parts += [_extra("empty", f"noise_{j}", _noise(rng)) for j in range(int(rng.choice([0, 0, 1, 2, 3])))]
    parts += [
        _extra("dead", f"dead_{j}", lambda rows, rng: np.full(rows, 0.7))
        for j in range(int(rng.choice([0, 0, 0, 1, 2])))
    ]
    drawn = [part.draw(rows, rng) for part in parts]
    while sum(len(codes) for part, (_, codes) in zip(parts, drawn, strict=True) if part.name != "dead") < 2:
        parts.append(_extra("empty", f"more_{len(parts)}", _noise(rng)))
        drawn.append(parts[-1].draw(rows, rng))
    factors = {name: column for found, _ in drawn for name, column in found.items()}
    codes: dict[str, np.ndarray] = {}
    for part, (_, found) in zip(parts, drawn, strict=True):
        codes |= _scaled(part, found, rng)
    in_order, codes_in_order = rng.permutation(list(factors)), rng.permutation(list(codes))
    read_well = any(part.name not in NOT_READ_WELL for part in parts)
    expected = [known for part in parts for known in part.must if known.kind is not Kind.EMPTY or read_well]
    true = [known for part in parts for known in (*part.must, *part.may)]
    if few:
        true += [replace(known, kind=Kind.MIXED) for known in true if known.kind is Kind.ROTATED]
    return World(
        rep=Representation(
            np.column_stack([codes[name] for name in codes_in_order]),
            {name: factors[name] for name in in_order},
            kinds={name: kind for part in parts for name, kind in part.kinds.items()},
            code_names=list(codes_in_order),
        ),
        structures=(*(["few rows"] if few else []), *sorted({part.name for part in parts})),
        must=() if few else tuple(expected),
        may=tuple(true),
        block_of={
            name: part.name for part, found in zip(parts, drawn, strict=True) for columns in found for name in columns
        },
    )


def _some_blocks(rng: np.random.Generator) -> list[Block]:
    """Return one to four blocks with two to eight factors in all; now and then codes that encode nothing."""
    n_blocks = int(rng.integers(1, 5))
    only_lost = rng.random() < 0.05
    blocks: list[Block] = []
    while len(blocks) < n_blocks or sum(len(block.kinds) for block in blocks) < 2:
        pick = own if rng.random() < 0.2 else BLOCKS[int(rng.integers(len(BLOCKS)))]
        blocks.append((lost if only_lost else pick)(rng))
    while sum(len(block.kinds) for block in blocks) > 8:
        blocks.pop()
    return blocks


def _noise(rng: np.random.Generator) -> Callable[[int, np.random.Generator], np.ndarray]:
    which = rng.choice(["normal", "heavy", "coin"])
    draws = {
        "normal": lambda rows, rng: rng.standard_normal(rows),
        "heavy": lambda rows, rng: rng.standard_t(3, rows),
        "coin": lambda rows, rng: rng.integers(3, size=rows) + 0.0,
    }
    return draws[str(which)]


def _extra(name: str, code: str, values: Callable[[int, np.random.Generator], np.ndarray]) -> Block:
    """Return a code without factors."""
    kind = Kind.DEAD if name == "dead" else Kind.EMPTY
    return Block(name=name, draw=lambda rows, rng: ({}, {code: values(rows, rng)}), must=(claim(kind, "", code),))


def _renamed(block: Block, place: int) -> Block:
    """Give factors and codes names that no other block has."""

    def name(short: str) -> str:
        return f"{block.name.replace(' ', '_').replace(',', '')}{place}_{short}"

    def known(one: Claim) -> Claim:
        return replace(one, factors=frozenset(map(name, one.factors)), codes=frozenset(map(name, one.codes)))

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        factors, codes = block.draw(rows, rng)
        return {name(k): v for k, v in factors.items()}, {name(k): v for k, v in codes.items()}

    return replace(
        block,
        draw=draw,
        kinds={name(k): v for k, v in block.kinds.items()},
        must=tuple(map(known, block.must)),
        may=tuple(map(known, block.may)),
    )


def _scaled(part: Block, codes: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Give the codes of a block one scale and sign, as angles between directions depend on the scales of codes."""
    scale, shift = 10 ** rng.uniform(-2, 2) * rng.choice([-1, 1]), rng.normal()
    return {name: scale * column + (0 if part.name == "dead" else shift) for name, column in codes.items()}
