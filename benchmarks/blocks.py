"""Blocks of factors and codes of known structure, with the claims that are true of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from unbraid import FindingKind

Kind = FindingKind
#: Kinds whose claim must name the very same codes; of the others some of the codes will do.
EXACT = {Kind.OWN, Kind.ROTATED, Kind.PACKED, Kind.CIRCLE, Kind.SPREAD, Kind.COPIED, Kind.FOLDED, Kind.EMPTY, Kind.DEAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one finding says, or one part of a finding that lists several factors or codes."""

    kind: FindingKind
    factors: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()

    def within(self, other: Claim) -> bool:
        """Tell whether the claim is true if the other one is."""
        if self.kind is not other.kind:
            return False
        if self.kind is Kind.MIXED:
            return self.factors <= other.factors and self.codes <= other.codes
        same = self.factors == other.factors
        return same and (self.codes == other.codes if self.kind in EXACT else self.codes <= other.codes)


def claim(kind: FindingKind, factors: str = "", codes: str = "") -> Claim:
    """Return a claim about names that are given apart by spaces."""
    return Claim(kind=kind, factors=frozenset(factors.split()), codes=frozenset(codes.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Factors and the codes that encode them.

    Attributes:
        name: Kind of structure.
        draw: ``(n_rows, rng) -> factors, codes``, columns by name.
        kinds: Kind of each factor.
        must: Claims that are expected.
        may: Further claims that are true.
    """

    name: str
    draw: Callable[[int, np.random.Generator], tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]
    kinds: dict[str, str] = field(default_factory=dict)
    must: tuple[Claim, ...] = ()
    may: tuple[Claim, ...] = ()


def numeric(rng: np.random.Generator, *, symmetric: bool = False) -> tuple[str, Callable[..., np.ndarray]]:
    """Return the kind of a random numeric factor of mean 0 and deviation 1, and a function that draws its values."""
    which = rng.choice(["uniform", "normal", "ordinal"] if symmetric else ["uniform", "normal", "ordinal", "skewed"])
    if which == "ordinal":
        n = int(rng.integers(5, 11))
        return "ordinal", lambda rows, rng: (rng.integers(n, size=rows) - (n - 1) / 2) / np.sqrt((n * n - 1) / 12)
    if which == "skewed":
        return "continuous", lambda rows, rng: (rng.gamma(4.0, size=rows) - 4) / 2
    if which == "uniform":
        return "continuous", lambda rows, rng: rng.uniform(-(3**0.5), 3**0.5, rows)
    return "continuous", lambda rows, rng: rng.standard_normal(rows)


def noisy(values: np.ndarray, read: float, rng: np.random.Generator) -> np.ndarray:
    """Add noise to values of deviation 1, so that they explain a share ``read`` of the variance."""
    return values + np.sqrt((1 - read) / read) * rng.standard_normal(len(values))


def own(rng: np.random.Generator) -> Block:
    """One numeric or categorical factor in one code, slightly bent at times, with a small leak never."""
    read = rng.uniform(0.9, 0.999)
    if rng.random() < 0.25:
        n = int(rng.integers(2, 6))
        return Block(
            name="own",
            kinds={"a": "categorical"},
            draw=lambda rows, rng: _single(
                level := rng.integers(n, size=rows), level + 0.08 * rng.standard_normal(rows)
            ),
            must=(claim(Kind.OWN, "a", "x"),) if n == 2 else (),
            # Where a category has three values or more, a line needs an order that the names do not have.
            may=(claim(Kind.OWN, "a", "x"), claim(Kind.CURVED, "a", "x")),
        )
    kind, values = numeric(rng)
    bend = rng.choice([0.0, 0.0, 0.3])

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = values(rows, rng)
        return _single(v, noisy(v, read, rng) + bend * np.tanh(2 * v))

    return Block(name="own", kinds={"a": kind}, draw=draw, must=(claim(Kind.OWN, "a", "x"),))


def _single(factor: np.ndarray, code: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    return {"a": factor}, {"x": code}


def _matrix(
    name: str, rng: np.random.Generator, mix: np.ndarray, must: tuple[Claim, ...], may: tuple[Claim, ...] = ()
) -> Block:
    """Codes are a matrix times the factors."""
    drawn = [numeric(rng) for _ in mix.T]
    read = rng.uniform(0.96, 0.999)

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = np.stack([values(rows, rng) for _, values in drawn], axis=1)
        z = v @ mix.T + np.sqrt((1 - read) / read) * np.linalg.svd(mix)[1].min() * rng.standard_normal((rows, len(mix)))
        return dict(zip("abc", v.T, strict=False)), dict(zip("xyz", z.T, strict=False))

    kinds = {letter: kind for letter, (kind, _) in zip("abc", drawn, strict=False)}
    return Block(name=name, kinds=kinds, draw=draw, must=must, may=may)


def rotated(rng: np.random.Generator) -> Block:
    """Two or three numeric factors times an orthogonal matrix without small entries."""
    n = int(rng.choice([2, 2, 3]))
    least = {2: 0.35, 3: 0.2}[n]  # an orthogonal matrix of three rows has an entry of 1/3 or less
    mix = _random_until(lambda: np.linalg.qr(rng.standard_normal((n, n)))[0], lambda q: np.abs(q).min() > least)
    names = "a b c"[: 2 * n - 1], "x y z"[: 2 * n - 1]
    return _matrix("rotated", rng, mix, (claim(Kind.ROTATED, *names),))


def mixed(rng: np.random.Generator) -> Block:
    """Two or three numeric factors times a matrix far from orthogonal, or one code of two that mixes."""
    if rng.random() < 0.3:
        mix = np.array([[1.0, 0.0], [rng.uniform(0.5, 1.0), 1.0]])
        return _matrix("mixed", rng, mix, (claim(Kind.MIXED, "a b", "x y"),))
    n = int(rng.choice([2, 2, 3]))

    def skewed(m: np.ndarray) -> bool:
        inverse = np.linalg.inv(m)
        angles = np.abs(_cosines(inverse))
        entries = np.abs(m) / np.linalg.norm(m, axis=1, keepdims=True)
        return bool(entries.min() > 0.3 and np.linalg.cond(m) < 6 and angles[np.triu_indices(n, 1)].max() > 0.5)

    mix = _random_until(lambda: rng.standard_normal((n, n)), skewed)
    return _matrix("mixed", rng, mix, (claim(Kind.MIXED, "a b c"[: 2 * n - 1], "x y z"[: 2 * n - 1]),))


def leaking(rng: np.random.Generator) -> Block:
    """Two factors in two codes, one of which has a little of the other factor: too little to mix, or doubtful."""
    leak = rng.choice([rng.uniform(0.005, 0.03), rng.uniform(0.08, 0.2)])
    mix = np.array([[1.0, 0.0], [np.sqrt(leak / (1 - leak)), 1.0]])
    apart = (claim(Kind.OWN, "a", "x"), claim(Kind.OWN, "b", "y"))
    if leak < 0.05:
        return _matrix("leaking", rng, mix, apart)
    return _matrix("leaking", rng, mix, (), (apart[0], claim(Kind.MIXED, "a b", "x y")))


def _cosines(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def _random_until(make: Callable[[], np.ndarray], good: Callable[[np.ndarray], bool]) -> np.ndarray:
    while not good(made := make()):
        pass
    return made


def copied(rng: np.random.Generator) -> Block:
    """One factor in two or three codes, some with the other sign or bent."""
    kind, values = numeric(rng)
    n, read = int(rng.choice([2, 2, 3])), rng.uniform(0.93, 0.999)
    signs, bent = rng.choice([-1.0, 1.0], n), rng.random(n) < 0.3

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = values(rows, rng)
        copies = [s * (noisy(v, read, rng) + b * 0.3 * np.tanh(2 * v)) for s, b in zip(signs, bent, strict=True)]
        return {"a": v}, dict(zip("xyz", copies, strict=False))

    return Block(name="copied", kinds={"a": kind}, draw=draw, must=(claim(Kind.COPIED, "a", "x y z"[: 2 * n - 1]),))


def spread(rng: np.random.Generator) -> Block:
    """A category in indicators, or a number turned together with unlabelled variables."""
    n = int(rng.choice([3, 3, 4]))
    names = "x y z w"[: 2 * n - 1]
    if rng.random() < 0.5:

        def indicators(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
            level = rng.integers(n, size=rows)
            z = np.eye(n)[level] + 0.1 * rng.standard_normal((rows, n))
            return {"a": level}, dict(zip("xyzw", z.T, strict=False))

        # Any indicators but one determine the category.
        fewer = tuple(claim(Kind.SPREAD, "a", " ".join(c for c in names.split() if c != out)) for out in names.split())
        return Block(
            name="spread",
            kinds={"a": "categorical"},
            draw=indicators,
            must=(claim(Kind.SPREAD, "a", names),),
            may=fewer,
        )
    n = int(rng.choice([2, 3]))
    names = "x y z"[: 2 * n - 1]
    kind, values = numeric(rng)
    turn = _random_until(
        lambda: np.linalg.qr(rng.standard_normal((n, n)))[0],
        lambda q: 0.45 < np.abs(q[0]).min() <= np.abs(q[0]).max() < 0.85,
    )
    read = rng.uniform(0.96, 0.999)

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = values(rows, rng)
        z = np.column_stack([noisy(v, read, rng), rng.standard_normal((rows, n - 1))]) @ turn
        return {"a": v}, dict(zip("xyz", z.T, strict=False))

    return Block(name="spread", kinds={"a": kind}, draw=draw, must=(claim(Kind.SPREAD, "a", names),))


def folded(rng: np.random.Generator) -> Block:
    """A code of the magnitude of a factor, with noise."""
    kind, values = numeric(rng, symmetric=True)
    power, off = rng.choice([1.0, 2.0]), rng.choice([0.0, 0.0, 0.6])

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = values(rows, rng)
        return _single(v, np.abs(v - off) ** power + 0.1 * rng.standard_normal(rows))

    here = (claim(Kind.FOLDED, "a", "x"),)
    if off:
        return Block(name="folded", kinds={"a": kind}, draw=draw, may=(*here, claim(Kind.PARTLY, "a", "x")))
    return Block(name="folded", kinds={"a": kind}, draw=draw, must=here)


def curved(rng: np.random.Generator) -> Block:
    """A code of which the factor is a function that no line follows: levels in another order, or a square."""
    if rng.random() < 0.5:
        n = int(rng.integers(5, 9))
        order = _random_until(lambda: rng.permutation(n), lambda p: np.corrcoef(p, np.arange(n))[0, 1] ** 2 < 0.3)
        return Block(
            name="curved",
            kinds={"a": "ordinal"},
            draw=lambda rows, rng: _single(v := rng.integers(n, size=rows), order[v] + 0.1 * rng.standard_normal(rows)),
            must=(claim(Kind.CURVED, "a", "x"),),
            may=(claim(Kind.OWN, "a", "x"),),
        )
    return Block(
        name="curved",
        kinds={"a": "continuous"},
        draw=lambda rows, rng: _single((c := rng.uniform(-1, 1, rows)) ** 2, c + 0.02 * rng.standard_normal(rows)),
        must=(claim(Kind.CURVED, "a", "x"),),
        may=(claim(Kind.OWN, "a", "x"),),
    )


def circle(rng: np.random.Generator) -> Block:
    """An angle as cosine and sine."""

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        angle = rng.uniform(0, 2 * np.pi, rows)
        z = np.stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((2, rows))
        return {"a": angle}, {"x": z[0], "y": z[1]}

    return Block(name="circle", kinds={"a": "circular"}, draw=draw, must=(claim(Kind.CIRCLE, "a", "x y"),))


def packed(rng: np.random.Generator) -> Block:
    """Two factors in one code: one in steps within the other's, or their sum."""
    if rng.random() < 0.5:
        n, m = int(rng.integers(2, 5)), int(rng.integers(2, 6))

        def steps(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
            v, w = rng.integers(n, size=rows), rng.integers(m, size=rows)
            return {"a": v, "b": w}, {"x": 1.5 * m * v + w + 0.08 * rng.standard_normal(rows)}

        # The smaller factor follows no line; the larger one does.
        may = (claim(Kind.CURVED, "b", "x"), claim(Kind.CURVED, "a b", "x"))
        kinds = {"a": "ordinal", "b": "ordinal"}
        return Block(name="packed", kinds=kinds, draw=steps, must=(claim(Kind.PACKED, "a b", "x"),), may=may)
    (kind_a, a), (kind_b, b) = numeric(rng), numeric(rng)
    weight = rng.uniform(0.8, 1.25)

    def total(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v, w = a(rows, rng), b(rows, rng)
        return {"a": v, "b": w}, {"x": v + weight * w + 0.05 * rng.standard_normal(rows)}

    half = (claim(Kind.PARTLY, "a", "x"), claim(Kind.PARTLY, "b", "x"))
    kinds = {"a": kind_a, "b": kind_b}
    return Block(name="packed", kinds=kinds, draw=total, must=(claim(Kind.PACKED, "a b", "x"),), may=half)


def partly(rng: np.random.Generator) -> Block:
    """A factor that one code reads in part."""
    read = rng.uniform(0.25, 0.55)
    here = (claim(Kind.PARTLY, "a", "x"),)
    if rng.random() < 0.25:
        n = int(rng.integers(2, 5))

        def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
            level = rng.integers(n, size=rows)
            shown = np.where(rng.random(rows) < read, level, rng.integers(n, size=rows))
            return _single(level, shown + 0.08 * rng.standard_normal(rows))

        return Block(name="partly", kinds={"a": "categorical"}, draw=draw, must=here)
    kind, values = numeric(rng)
    return Block(
        name="partly",
        kinds={"a": kind},
        draw=lambda rows, rng: _single(v := values(rows, rng), noisy(v, read, rng)),
        must=here,
    )


def weak(rng: np.random.Generator) -> Block:
    """A factor of which a code has very little."""
    kind, values = numeric(rng)
    read = rng.uniform(0.03, 0.15)
    nothing = (claim(Kind.LOST, "a"), claim(Kind.EMPTY, "", "x"))
    return Block(
        name="weak",
        kinds={"a": kind},
        draw=lambda rows, rng: _single(v := values(rows, rng), noisy(v, read, rng)),
        may=(claim(Kind.PARTLY, "a", "x"), *(nothing if read <= 0.05 else ())),
    )


def faded(rng: np.random.Generator) -> Block:
    """Two factors turned into two codes under so much noise that a third to two thirds of each are read."""
    (kind_a, a), (kind_b, b) = numeric(rng), numeric(rng)
    angle, read = np.deg2rad(rng.uniform(20, 70)), rng.uniform(0.3, 0.6)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = np.stack([a(rows, rng), b(rows, rng)], axis=1)
        z = v @ turn + np.sqrt((1 - read) / read) * rng.standard_normal((rows, 2))
        return {"a": v[:, 0], "b": v[:, 1]}, {"x": z[:, 0], "y": z[:, 1]}

    in_part = (claim(Kind.PARTLY, "a", "x y"), claim(Kind.PARTLY, "b", "x y"))
    expected = in_part if read < 0.55 else ()
    return Block(
        name="faded",
        kinds={"a": kind_a, "b": kind_b},
        draw=draw,
        must=expected,
        may=(*in_part, claim(Kind.MIXED, "a b", "x y"), claim(Kind.ROTATED, "a b", "x y")),
    )


def product(rng: np.random.Generator) -> Block:
    """A factor times the sign of another one, beside the other one: the first needs both codes."""
    (kind_a, a), (kind_b, b) = numeric(rng, symmetric=True), numeric(rng, symmetric=True)

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v, w = a(rows, rng), b(rows, rng)
        signs = np.where(w == 0, 1.0, np.sign(w))
        return {"a": v, "b": w}, {"x": v * signs + 0.03 * rng.standard_normal(rows), "y": noisy(w, 0.99, rng)}

    may = (
        claim(Kind.OWN, "b", "y"),
        claim(Kind.CURVED, "a", "x y"),
        claim(Kind.FOLDED, "a", "x"),
        claim(Kind.MIXED, "a b", "x y"),
    )
    return Block(name="product", kinds={"a": kind_a, "b": kind_b}, draw=draw, may=may)


def lost(rng: np.random.Generator) -> Block:
    """A factor that no code has."""
    kind, values = numeric(rng)
    if rng.random() < 0.25:
        n = int(rng.integers(2, 6))
        kind, values = "categorical", lambda rows, rng: rng.integers(n, size=rows)
    return Block(
        name="lost",
        kinds={"a": kind},
        draw=lambda rows, rng: ({"a": values(rows, rng)}, {}),
        must=(claim(Kind.LOST, "a"),),
    )


def dependent(rng: np.random.Generator) -> Block:
    """Two or three factors that depend on each other, each in a code of its own, or but one of them in a code."""
    which = rng.choice(["pair", "one", "sum", "xor"])
    strength = rng.uniform(0.3, 0.95)
    names = {"pair": "ab", "one": "ab", "sum": "abc", "xor": "abc"}[which]

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v, w = rng.standard_normal((2, rows))
        if which == "xor":
            a, b = rng.integers(2, size=(2, rows))
            columns = [a, b, a ^ b]
        elif which == "sum":
            columns = [v, w, (v + w) / 2**0.5]
        else:
            columns = [v, strength * v + np.sqrt(1 - strength**2) * w]
        read = columns[:1] if which == "one" else columns
        codes = [column + 0.1 * rng.standard_normal(rows) for column in read]
        return dict(zip(names, columns, strict=True)), dict(zip("xyz", codes, strict=False))

    kinds = dict.fromkeys(names, "categorical" if which == "xor" else "continuous")
    may = [claim(Kind.OWN, factor, code) for factor, code in zip(names, "xyz", strict=False)]
    must = may if which == "xor" else []
    if which == "one":
        may = [may[0], claim(Kind.PARTLY, "b", "x")]
    return Block(name=f"dependent {which}", kinds=kinds, draw=draw, must=tuple(must), may=tuple(may))


def rotated_and_copied(rng: np.random.Generator) -> Block:
    """Two factors turned into two codes, one of which has a copy."""
    turned = _random_until(lambda: np.linalg.qr(rng.standard_normal((2, 2)))[0], lambda q: np.abs(q).min() > 0.35)
    mix = np.vstack([turned, rng.choice([-1, 1]) * turned[:1]])
    may = [claim(Kind.MIXED, "a b", "x y z"), claim(Kind.ROTATED, "a b", "x y"), claim(Kind.ROTATED, "a b", "y z")]
    # Two codes alone predict a factor that makes up most of both.
    may += [claim(Kind.COPIED, name, "x z") for name, entry in zip("ab", turned[0], strict=True) if entry**2 > 0.7]
    return _matrix("rotated and copied", rng, mix, (), tuple(may))


def own_and_folded(rng: np.random.Generator) -> Block:
    """A factor in a code of its own, and its magnitude in another code."""
    kind, values = numeric(rng, symmetric=True)

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = values(rows, rng)
        return {"a": v}, {"x": noisy(v, 0.98, rng), "y": np.abs(v) + 0.1 * rng.standard_normal(rows)}

    return Block(name="own and folded", kinds={"a": kind}, draw=draw, may=(claim(Kind.OWN, "a", "x"),))


def noisy_copies(rng: np.random.Generator) -> Block:
    """Three copies of a factor, each with much noise of its own, so that together they are better than any one."""
    kind, values = numeric(rng)
    read = rng.uniform(0.5, 0.6)

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v = values(rows, rng)
        return {"a": v}, {name: noisy(v, read, rng) for name in "xyz"}

    return Block(name="noisy copies", kinds={"a": kind}, draw=draw, may=(claim(Kind.SPREAD, "a", "x y z"),))


def rotated_and_dependent(rng: np.random.Generator) -> Block:
    """Two factors that depend on each other a little, turned into two codes."""
    correlation, angle = rng.uniform(0.1, 0.35), np.deg2rad(rng.uniform(25, 65))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        v, w = rng.standard_normal((2, rows))
        both = np.stack([v, correlation * v + np.sqrt(1 - correlation**2) * w], axis=1)
        z = both @ turn + 0.12 * rng.standard_normal((rows, 2))
        return {"a": both[:, 0], "b": both[:, 1]}, {"x": z[:, 0], "y": z[:, 1]}

    kinds = {"a": "continuous", "b": "continuous"}
    return Block(name="rotated, dependent", kinds=kinds, draw=draw, must=(claim(Kind.ROTATED, "a b", "x y"),))


def mixed_category(rng: np.random.Generator) -> Block:
    """A category and a number in the sum and the difference of the two."""
    kind, values = numeric(rng)
    n = int(rng.integers(2, 4))

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        level, v = rng.integers(n, size=rows), values(rows, rng)
        z = np.stack([2 * level + v, 2 * level - v]) + 0.05 * rng.standard_normal((2, rows))
        return {"a": level, "b": v}, {"x": z[0], "y": z[1]}

    # The category needs the sum of the codes; the number, their difference.
    may = (
        claim(Kind.MIXED, "a b", "x y"),
        claim(Kind.ROTATED, "a b", "x y"),
        claim(Kind.CURVED, "a", "x y"),
        claim(Kind.SPREAD, "a", "x y"),
        claim(Kind.SPREAD, "b", "x y"),
    )
    return Block(name="mixed category", kinds={"a": "categorical", "b": kind}, draw=draw, may=may)


def angle_in_a_code(rng: np.random.Generator) -> Block:
    """An angle in one code, which jumps."""
    may = (claim(Kind.CURVED, "a", "x"), claim(Kind.OWN, "a", "x"))
    return Block(
        name="angle in a code",
        kinds={"a": "circular"},
        draw=lambda rows, rng: _single(v := rng.uniform(0, 2 * np.pi, rows), v + 0.05 * rng.standard_normal(rows)),
        may=may,
    )
