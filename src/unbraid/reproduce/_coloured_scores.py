"""Every number of Experiment II: what the paper printed, and how it is measured here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unbraid._typing import FloatArray, IntArray
from unbraid.data._coloured_digits import ColouredDigits
from unbraid.metrics import dci_linear, explicitness, mig, modularity, sap, z_min_var
from unbraid.representation import Representation
from unbraid.reproduce._coloured_codes import ColouredCodes


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperLine:
    """One number of the experiment.

    Attributes:
        name: What we call it.
        where: Table or section that prints it.
        label: What the paper calls it.
        published: The paper's value; ``None`` where it prints none.
        settings: How ours is measured.
    """

    name: str
    where: str
    label: str
    published: float | None
    settings: str


NUMBERS = "factors as numbers"
EACH_CODE = "all 64 codes, each on its own; factors as numbers; forests, mean absolute error, cross-fitted"
READ_OUT = "fitted on the digits learned from, measured on those held out"
ERROR = f"line from the factor's number to its code, code scaled to [0, 1]; {READ_OUT}"
ACCURACY = f"multinomial logistic regression on the factor's code alone; {READ_OUT}"
LEARNED = "as above, but measured on the digits learned from: what is lacking on others is more digits"
GENERATED = "share of generated pictures on which pixels and nearest neighbours show the value asked for"


def _line(where: str, name: str, label: str, published: float | None, settings: str) -> PaperLine:
    return PaperLine(name=name, where=where, label=label, published=published, settings=settings)


# The paper's regressions treat all three factors as numbers. That follows from its first experiment: informativeness
# and SAP of Cos0 are .9855 and .9853, and the squared correlation of y and cos(y), uniform on half a circle, is .9855.
PAPER_LINES: tuple[PaperLine, ...] = (
    _line("Table 6", "z_min_var", "FactorVAE", 1.0, "800 votes of 200 rows, chance subtracted"),
    _line("Table 6", "modularity", "Modularity Score", 0.7117, "20 bins"),
    _line("Table 6", "dci_linear.disentanglement", "Disentanglement", 0.9314, f"Lasso, {NUMBERS}"),
    _line("Table 6", "dependent.modularity", "Ind. Modularity", 0.9565, EACH_CODE),
    _line("Table 7", "mig", "MIG", 0.4819, "20 bins"),
    _line("Table 7", "sap", "SAP", 0.7972, f"R² of a line, {NUMBERS}"),
    _line("Table 7", "dci_linear.completeness", "Completeness", 0.5728, f"Lasso, {NUMBERS}"),
    _line("Table 7", "dependent.compactness", "Ind. Compactness", 0.9971, EACH_CODE),
    _line("Table 8", "explicitness", "Explicitness Score", 0.9892, "mean area under the curve, chance 0.5"),
    _line("Table 8", "dci_linear.informativeness", "Informativeness", 0.9914, f"R² of the Lasso, {NUMBERS}"),
    _line("Table 8", "dependent.explicitness", "Ind. Explicitness", 0.9953, EACH_CODE),
    _line("Sec. 6", "error.digit", "MSE, digit to code", 1.25e-3, ERROR),
    _line("Sec. 6", "error.digit_colour", "MSE, digit colour to code", 7.50e-4, ERROR),
    _line("Sec. 6", "error.background_colour", "MSE, background colour to code", 7.04e-4, ERROR),
    _line("Sec. 6", "accuracy.digit", "accuracy, code to digit", 0.9925, ACCURACY),
    _line("Sec. 6", "accuracy.digit_colour", "accuracy, code to digit colour", 1.0, ACCURACY),
    _line("Sec. 6", "accuracy.background_colour", "accuracy, code to background colour", 1.0, ACCURACY),
    _line("", "accuracy_learned.digit", "accuracy, code to digit, learned from", None, LEARNED),
    _line("Fig. 1", "generated.digit", "digit as asked", None, GENERATED),
    _line("Fig. 1", "generated.digit_colour", "digit colour as asked", None, GENERATED),
    _line("Fig. 1", "generated.background_colour", "background colour as asked", None, GENERATED),
    _line("", "judge.digit", "the same judge on real digits", None, "accuracy on the digits held out"),
)


def all_scores(run: ColouredCodes, *, seed: int) -> dict[str, float]:
    """Measure everything in :data:`PAPER_LINES` for one trained network, by name."""
    kinds = dict.fromkeys(ColouredDigits.factor_names, "ordinal")
    rep = Representation(run.codes, run.factors, names=ColouredDigits.factor_names, kinds=kinds)
    dci = dci_linear(rep, rng=seed)
    scores = {
        "z_min_var": z_min_var(rep, rng=seed).value,
        "modularity": modularity(rep).value,
        "mig": mig(rep).value,
        "sap": sap(rep, rng=seed).value,
        "explicitness": explicitness(rep, rng=seed).value,
    }
    scores |= {f"dci_linear.{name}": score.value for name, score in dci._asdict().items()}
    for k, factor in enumerate(ColouredDigits.factor_names):
        learned, held_out = (run.learned_codes[:, k], run.learned_factors[:, k]), (run.codes[:, k], run.factors[:, k])
        scores[f"error.{factor}"] = line_error(*learned, *held_out)
        scores[f"accuracy.{factor}"] = threshold_accuracy(*learned, *held_out)
        scores[f"accuracy_learned.{factor}"] = threshold_accuracy(*learned, *learned)
        scores[f"generated.{factor}"] = float(run.as_asked[k])
        scores[f"judge.{factor}"] = float(run.judge_accuracy[k])
    return scores


def line_error(learned_code: FloatArray, learned_factor: IntArray, code: FloatArray, factor: IntArray) -> float:
    """Mean squared error of a line from a factor's number to its code, as a share of the code's range squared."""
    slope, shift = np.polyfit(learned_factor, learned_code, 1)
    unit = np.ptp(learned_code)
    return float(np.mean(((slope * factor + shift - code) / unit) ** 2))


def threshold_accuracy(learned_code: FloatArray, learned_factor: IntArray, code: FloatArray, factor: IntArray) -> float:
    """Accuracy of a linear classifier that sees one code."""
    from sklearn.linear_model import LogisticRegression

    scale = learned_code.std()
    classifier = LogisticRegression(C=100.0, max_iter=1000).fit(learned_code[:, None] / scale, learned_factor)
    return float(classifier.score(code[:, None] / scale, factor))
