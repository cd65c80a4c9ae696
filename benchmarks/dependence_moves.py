"""How far a dependence between factors, by itself, moves each score.

    python benchmarks/dependence_moves.py      # prints, and writes src/unbraid/metrics/dependence_moves.json

Four Gaussian factors, in two pairs of correlation r; every code is a factor with a little noise, or two codes are a
pair of factors turned by 25 degrees. The strength of the dependence is the mutual information of a pair cut into ten
parts, as a share of its largest, as the panel measures it. The move is the score of the dependent factors less that of
the same draw with r = 0, the mean over draws; of the two kinds of codes the larger one counts. For dependence beyond
pairs, four coins, one of them the exclusive or of two others, each in a code of its own, beside four independent coins.
The panel reads the table to tell which scores a dependence of a given strength moves by more than a little.
"""

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import fill_in, keep, options, parse
from unbraid import METRICS, Representation, evaluate
from unbraid.evidence.dependence import factor_dependence

CORRELATIONS = (0.0, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 0.97, 0.995)
TABLE = Path(__file__).resolve().parents[1] / "src" / "unbraid" / "metrics" / "dependence_moves.json"
TURN = np.deg2rad(25)


def factors_of(base, correlation):
    """Return two pairs of Gaussian factors; the same draw for every correlation."""
    second = correlation * base[:, ::2] + np.sqrt(1 - correlation**2) * base[:, 1::2]
    return np.stack([base[:, 0], second[:, 0], base[:, 2], second[:, 1]], axis=1)


def codes_of(factors, noise, turned):
    """Return a code for each factor, or two pairs of factors each turned into two codes."""
    if turned:
        turn = np.array([[np.cos(TURN), -np.sin(TURN)], [np.sin(TURN), np.cos(TURN)]])
        factors = np.hstack([factors[:, :2] @ turn, factors[:, 2:] @ turn])
    return factors + 0.2 * noise


def pairs(correlation, turned, rows, seed):
    """Return codes and factors of two dependent pairs."""
    rng = np.random.default_rng([17, seed])
    factors = factors_of(rng.standard_normal((rows, 4)), correlation)
    return codes_of(factors, rng.standard_normal((rows, 4)), turned), factors


def coins(xor, rows, seed):
    """Return codes and factors of four coins, the third of which may be the exclusive or of the first two."""
    rng = np.random.default_rng([18, seed])
    factors = rng.integers(2, size=(rows, 4))
    if xor:
        factors[:, 2] = factors[:, 0] ^ factors[:, 1]
    return factors + 0.1 * rng.standard_normal((rows, 4)), factors


def scores(names, codes, factors):
    """Return the score of each metric."""
    report = evaluate(codes, factors, metrics=names, intervals=False, nulls=False, n_jobs=1, progress=False)
    return {name: report.scores[name].value for name in names if name in report.scores}


def strength(correlation):
    """Return the strength that the panel measures of two Gaussian factors of this correlation."""
    factors = factors_of(np.random.default_rng(0).standard_normal((20_000, 4)), correlation)
    found = factor_dependence(Representation(factors, factors), np.random.default_rng(0))
    return float(np.mean([pair.strength for pair in found.pairs[:2]])) if correlation else 0.0


def as_markdown(strengths, table, beyond):
    """Return the table for a page."""
    lines = [
        f"| Strength | {' | '.join(f'{one:.3f}' for one in strengths[1:])} | exclusive or |",
        f"| --- |{' ---: |' * len(strengths)}",
        f"| *correlation* | {' | '.join(f'{one:g}' for one in CORRELATIONS[1:])} | |",
    ]
    for name, moves in table.items():
        cells = " | ".join(f"{move:+.2f}" for move in (*moves[1:], beyond[name]))
        lines.append(f"| `{name}` | {cells} |")
    return "\n".join(lines)


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--page", type=Path, help="a page whose marked block is written anew")
    parser.add_argument("--metrics", help="names apart by commas; by default those of the panel that are misled")
    given = parse(parser, __file__, arguments, rows=200, draws=1, metrics="mig,sap")
    if given.output == Path(__file__).with_suffix(".json"):
        given.output = TABLE
    misled = [name for name, row in METRICS.items() if row.misled_by_dependence and row.in_default]
    names = given.metrics.split(",") if given.metrics else misled
    moves, beyond = {name: np.zeros((2, len(CORRELATIONS))) for name in names}, dict.fromkeys(names, 0.0)
    for draw in range(given.draws):
        for turned in (False, True):
            of = [scores(names, *pairs(correlation, turned, given.rows, draw)) for correlation in CORRELATIONS]
            for name in names:
                moves[name][int(turned)] += [(one[name] - of[0][name]) / given.draws for one in of]
        free, tied = (scores(names, *coins(xor, given.rows, draw)) for xor in (False, True))
        beyond = {name: beyond[name] + (tied[name] - free[name]) / given.draws for name in names}
    strengths = [round(strength(correlation), 3) for correlation in CORRELATIONS]
    print("strength".ljust(34) + "".join(f"{s:8.3f}" for s in strengths) + "     xor")
    table = {}
    for name, found in moves.items():
        larger = np.abs(found).argmax(axis=0)
        table[name] = [round(float(found[kind, place]), 3) for place, kind in enumerate(larger)]
        print(name.ljust(34) + "".join(f"{move:8.3f}" for move in (*table[name], beyond[name])))
    beyond = {name: round(float(move), 3) for name, move in beyond.items()}
    fill_in(given.page, "moves", as_markdown(strengths, table, beyond))
    keep(given.output, {"strengths": strengths, "moves": table, "beyond_pairs": beyond})


if __name__ == "__main__":
    main()
