"""Experiment II of the paper on dependent factors: coloured digits, a VAE told of the factors, what metrics say."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unbraid._files import write_text
from unbraid._validation import check_at_least, check_choice
from unbraid._version import __version__
from unbraid.data._coloured_digits import ColouredDigits, coloured_digits
from unbraid.data._digits import Digits, bundled_digits, mnist_digits
from unbraid.reproduce._coloured_codes import CodesOptions, learn_codes
from unbraid.reproduce._coloured_scores import PAPER_LINES, PaperLine, all_scores

HELD_OUT = 0.2
ARCHITECTURE = (
    "The paper's text gives neither networks nor training nor the weight of the divergence; ours are two convolutions "
    "each way, a Bernoulli likelihood, Adam and a weight of {beta:g}."
)
FEW_DIGITS = (
    "Learned from {learned} digits and judged on {judged} others; the paper has MNIST, about 24 700 training digits "
    "0 to 3."
)
BUNDLED = (
    "These are scikit-learn's 8-by-8 digits, not MNIST: scores can be compared with the paper's only loosely; "
    "give an MNIST folder with data (--data)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineResult:
    """One number of the paper, measured again.

    Attributes:
        line: What the paper says.
        ours: One value for each seed.
    """

    line: PaperLine
    ours: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Our number, averaged over seeds."""
        return float(np.mean(self.ours))

    @property
    def spread(self) -> float | None:
        """Standard deviation over seeds; ``None`` for fewer than two."""
        return float(np.std(self.ours, ddof=1)) if len(self.ours) > 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DependentMnist:
    """The experiment, run again.

    Attributes:
        results: One for each number, in the order of the paper.
        picture: The grid of generated digits of the first seed (Fig. 1), as SVG.
        n_seeds: Seeds: 0, 1, ...
        n_learned: Digits learned from.
        n_judged: Digits held out, on which every number was measured.
        bundled: Whether the digits are scikit-learn's.
        quick: Whether a smaller network was trained for fewer steps.
        options: Network and training.
        seconds: Time it took, all seeds together.
    """

    results: tuple[LineResult, ...]
    picture: str
    n_seeds: int
    n_learned: int
    n_judged: int
    bundled: bool
    quick: bool
    options: CodesOptions
    seconds: float

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the tables should know."""
        few = FEW_DIGITS.format(learned=self.n_learned, judged=self.n_judged)
        return (*([BUNDLED] if self.bundled else []), few, ARCHITECTURE.format(beta=self.options.beta))

    def __getitem__(self, name: str) -> LineResult:
        """Return the number with this name, such as ``"mig"``."""
        return next(result for result in self.results if result.line.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: what :meth:`to_json` writes."""
        return {
            "name": "dependent-mnist",
            "scores": {result.line.name: _line_dict(result) for result in self.results},
            "notes": list(self.notes),
            "meta": {
                "unbraid": __version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
                "digits": "scikit-learn" if self.bundled else "MNIST folder",
                "learned": self.n_learned,
                "judged": self.n_judged,
                "seeds": list(range(self.n_seeds)),
                "quick": self.quick,
                "codes": self.options.n_codes,
                "width": self.options.width,
                "beta": self.options.beta,
                "steps": self.options.n_steps,
                "device": self.options.device,
                "seconds": round(self.seconds, 1),
            },
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the numbers as JSON, and write them to ``path`` if given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, text + "\n")
        return text


def dependent_mnist(
    data: str | Path | None = None,
    *,
    n_seeds: int = 1,
    n_steps: int | None = None,
    beta: float = 100.0,
    quick: bool = False,
    device: str = "cpu",
    progress: bool | None = None,
) -> DependentMnist:
    """Colour digits by Table 5, train the VAE of Appendix D, and measure what Tables 6 to 8 and Section 6 report.

    Args:
        data: An MNIST folder in IDX format (see :func:`~unbraid.data.mnist_digits`); scikit-learn's digits if not
            given. If the folder has both parts, the second is held out; otherwise a fifth of the digits is.
        n_seeds: Runs, with seeds 0, 1, ...; each draws colours and held-out rows, and trains, afresh.
        n_steps: Training steps; by default 3000, or 500 with ``quick``.
        beta: Weight of the divergence from the prior. The paper does not state its own; at 100 the read-out errors of
            the colours are the paper's, at 10 the codes past the first three hold the style of the digit.
        quick: A network half as wide.
        device: Where to train: ``"cpu"`` or ``"cuda"``.
        progress: Show progress bars on standard error; by default when that is a terminal.

    Returns:
        Ours beside the paper's, and the picture of generated digits.

    Raises:
        ValueError: Bad digits or options, or torch is not installed.
    """
    check_at_least("n_seeds", n_seeds, 1)
    check_choice("device", device, ("cpu", "cuda"))
    steps = (500 if quick else 3000) if n_steps is None else n_steps
    options = CodesOptions(n_steps=steps, width=16 if quick else 32, beta=beta, device=device)
    learned, judged = (bundled_digits(), None) if data is None else mnist_digits(data)

    started, runs = time.perf_counter(), []
    for seed in range(n_seeds):
        sets = _coloured(learned, judged, seed)
        codes = learn_codes(*sets, options, seed=seed, progress=progress)
        runs.append((codes, all_scores(codes, seed=seed)))
    first = runs[0][0]
    return DependentMnist(
        results=tuple(LineResult(line=line, ours=tuple(run[line.name] for _, run in runs)) for line in PAPER_LINES),
        picture=first.picture,
        n_seeds=n_seeds,
        n_learned=len(first.learned_factors),
        n_judged=len(first.factors),
        bundled=data is None,
        quick=quick,
        options=options,
        seconds=time.perf_counter() - started,
    )


def _coloured(learned: Digits, judged: Digits | None, seed: int) -> tuple[ColouredDigits, ColouredDigits]:
    """Colour the digits to learn from and those held out; hold out a fifth where there is one part only."""
    rng = np.random.default_rng([seed, 0])
    if judged is None:
        order = rng.permutation(len(learned))
        cut = round((1 - HELD_OUT) * len(learned))
        learned, judged = learned.take(order[:cut]), learned.take(order[cut:])
    return coloured_digits(learned, rng=rng), coloured_digits(judged, rng=rng)


def _line_dict(result: LineResult) -> dict[str, Any]:
    return {
        "where": result.line.where,
        "label": result.line.label,
        "ours": result.mean,
        "spread": result.spread,
        "seeds": list(result.ours),
        "paper": result.line.published,
        "settings": result.line.settings,
    }
