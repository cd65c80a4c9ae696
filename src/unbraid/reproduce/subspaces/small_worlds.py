"""Figures 1, 4 and 7 of Measuring Orthogonality: small worlds whose subspaces are known in closed form."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from unbraid._base.arrays import FloatArray
from unbraid._base.progress import Show, track
from unbraid.data.orthogonal import orthogonal_scheme
from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves
from unbraid.evidence.subspaces.options import SubspaceOptions, Subspaces
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.metrics.geometry.orthogonality import iwo_score, loss_shares
from unbraid.metrics.prediction.dci import dci_forest
from unbraid.metrics.prediction.dci_es import es_explicitness
from unbraid.probes.capacity import MLPLadder
from unbraid.report.charts import ChartGroup, Series, line_chart
from unbraid.representation.representation import Representation
from unbraid.reproduce.agreement import Check, Part
from unbraid.reproduce.figures import About, Device, FigureResult
from unbraid.reproduce.result import Number, Row, Table, difference

#: How far the second factor of Fig. 1 (iii) leans towards the first: its direction is (SHEAR, 1).
SHEAR = 0.8
#: Angle between the planes of Fig. 4 (ii) and (iv).
ANGLE = math.radians(30)
#: Size of the world of Fig. 7: experiment 3 of Table 1.
N_CODES, N_FACTORS, RANK, N_LEVELS = 10, 5, 5, 41
CASES_1, CASES_4 = ("(i)", "(ii)", "(iii)"), ("(i)", "(ii)", "(iii)", "(iv)")
#: Distance from a closed form that is allowed.
TOLERANCE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSettings:
    """Sizes of the worlds, and training of the networks.

    Attributes:
        n_samples: Rows of Figs. 1 and 4.
        frequency: Turns of the cosines of Fig. 4 for each deviation of a code.
        n_nested: Rows of Fig. 7.
        heads: Hidden layers of the networks of Fig. 7, such as ``256x256`` as published; the small ones by default.
        n_steps: Training steps of the networks of Fig. 7.
        n_ladder_steps: Training steps of each network whose loss gives the explicitness of Fig. 4.
    """

    n_samples: int = 4000
    frequency: float = 0.25
    n_nested: int = 10_000
    heads: str | None = None
    n_steps: int = 1000
    n_ladder_steps: int = 600


USUAL = WorldSettings()
QUICK = WorldSettings(n_samples=1500, n_nested=3000, n_steps=200, n_ladder_steps=150)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Scores of one configuration of Fig. 1 or 4.

    Attributes:
        name: Number in the figure.
        iwo: Importance-weighted orthogonality, and its closed form.
        disentanglement: D of DCI, by forests.
        explicitness: E of DCI-ES, by networks; not measured for Fig. 1.
    """

    name: str
    iwo: Number
    disentanglement: Number
    explicitness: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedCurve:
    """Fig. 7: networks that see the first axes, one, two, ...

    Attributes:
        losses: Test loss of the network of each number of axes, as a share of the loss with none: mean over factors.
        steps: Training steps at which the validation loss was looked at.
        training: Validation loss of each network at each look, as the same share, ``n_looks`` times ``n_axes``.
    """

    losses: tuple[Number, ...]
    steps: tuple[int, ...]
    training: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallWorlds(FigureResult):
    """Figures 1, 4 and 7, run again.

    Attributes:
        aligned: The configurations of Fig. 1.
        planes: The configurations of Fig. 4.
        nested: Fig. 7.
    """

    about: ClassVar = About(
        name="iwo-figures",
        title="Orthogonal is not the same as aligned, nor as easy to predict",
        where="Figs. 1, 4 and 7",
        lede="Small code spaces in which the directions of the factors are known, so that the right orthogonality "
        "follows on paper; and networks that see the first axes of a factor, one, two, ...",
        paper="Geyer et al. (2024), Measuring Orthogonality in Representations of Generative Models; arXiv:2407.03728",
    )
    settings: WorldSettings
    aligned: tuple[Configuration, ...]
    planes: tuple[Configuration, ...]
    nested: NestedCurve

    def tables(self) -> Sequence[Table]:
        """Return the scores of all configurations."""
        rows: list[Row] = [
            [f"{figure} {one.name}", one.iwo, one.disentanglement, one.explicitness]
            for figure, found in (("Fig. 1", self.aligned), ("Fig. 4", self.planes))
            for one in found
        ]
        return [Table(header=["configuration", "IWO", "D", "E"], rows=rows)]

    def charts(self) -> Sequence[ChartGroup]:
        """Return both sides of Fig. 7: the loss by number of axes, and during training."""
        left = line_chart(
            [
                Series(
                    name="loss",
                    x=np.arange(1.0, len(self.nested.losses) + 1),
                    y=np.array([number.ours for number in self.nested.losses], dtype=float),
                )
            ],
            title="Loss by number of axes",
            x_label="axes",
            y_label="share of the loss with none",
        )
        looks, steps = np.array(self.nested.training, dtype=float), np.array(self.nested.steps, dtype=float)
        right = line_chart(
            [Series(name=f"{k + 1} axes" if k else "1 axis", x=steps, y=looks[:, k]) for k in range(RANK)],
            title="Loss during training",
            caption="validation rows",
            x_label="step",
            y_label="share of the loss with none",
        )
        caption = "Networks that see the first axes of each factor of ten codes, five axes a factor."
        return [ChartGroup(title="Fig. 7", caption=caption, charts=[left, right])]


def small_worlds(
    *, settings: WorldSettings = USUAL, seed: int = 0, device: Device = "cpu", progress: Show = None
) -> SmallWorlds:
    """Reproduce Figures 1, 4 and 7 of Measuring Orthogonality (arXiv:2407.03728) as numbers with closed forms.

    Fig. 1: two factors of two codes, aligned with the codes, rotated by 45 degrees, or leaning towards each other. Fig.
    4: two factors that are quadratic or trigonometric functions of a plane each, at right angles or at 30 degrees.
    Fig. 7: the loss of networks that see the first axes of a factor, by their number and during training.

    Args:
        settings: Sizes of the worlds, and training of the networks.
        seed: Of the codes and the networks.
        device: Where the networks of Fig. 7 train.
        progress: Show a progress bar on standard error; by default when that is a terminal.
    """
    started = time.perf_counter()
    with threadpool_limits(1), track(len(CASES_1) + len(CASES_4) + 1, progress) as bar:
        aligned, planes = [], []
        for name in CASES_1:
            aligned.append(_first_figure(name, settings, seed))
            bar.advance()
        for name in CASES_4:
            planes.append(_fourth_figure(name, settings, seed))
            bar.advance()
        nested = _seventh_figure(settings, seed, device)
        bar.advance()
    return SmallWorlds(
        settings=settings,
        seed=seed,
        device=device,
        seconds=round(time.perf_counter() - started, 1),
        aligned=tuple(aligned),
        planes=tuple(planes),
        nested=nested,
    )


def lines(case: str) -> FloatArray:
    """Return the directions of the two factors of Fig. 1 as columns."""
    half = math.sqrt(0.5)
    leaning = np.array([SHEAR, 1.0]) / math.hypot(SHEAR, 1)
    columns = {
        "(i)": [[1.0, 0.0], [0.0, 1.0]],
        "(ii)": [[half, half], [-half, half]],
        "(iii)": [[1.0, 0.0], leaning.tolist()],
    }
    return np.array(columns[case]).T


def planes(case: str) -> tuple[FloatArray, FloatArray]:
    """Return orthonormal bases of the planes of Fig. 4 as columns; they share the first axis of code space."""
    angle = math.pi / 2 if case in ("(i)", "(iii)") else ANGLE
    second = np.array([[1.0, 0.0], [0.0, math.cos(angle)], [0.0, math.sin(angle)]])
    return np.eye(3)[:, :2], second


def closed_form(bases: Sequence[FloatArray]) -> float:
    """Return the IWO of two subspaces whose axes matter alike."""
    first, second = bases
    return float(1 - ((first.T @ second) ** 2).sum() / math.sqrt(first.shape[1] * second.shape[1]))


def _first_figure(case: str, settings: WorldSettings, seed: int) -> Configuration:
    axes = lines(case)
    codes = np.random.default_rng(seed).uniform(-1, 1, size=(settings.n_samples, 2))
    rep = Representation(codes, codes @ axes)
    return Configuration(
        name=case,
        iwo=Number(ours=iwo_score(_subspaces(rep, seed)).value, truth=closed_form((axes[:, :1], axes[:, 1:]))),
        disentanglement=Number(ours=dci_forest(rep, rng=seed).disentanglement.value),
        explicitness=Number(ours=None),
    )


def _fourth_figure(case: str, settings: WorldSettings, seed: int) -> Configuration:
    bases = planes(case)
    codes = np.random.default_rng(seed).standard_normal((settings.n_samples, 3))
    is_quadratic = case in ("(i)", "(ii)")
    of_plane = [codes @ basis for basis in bases]
    factors = [
        (part**2 if is_quadratic else np.cos(2 * math.pi * settings.frequency * part)).sum(axis=1) for part in of_plane
    ]
    rep = Representation(codes, np.stack(factors, axis=1))
    ladder = MLPLadder(widths=(2, 8, 32), n_steps=settings.n_ladder_steps)
    curves = loss_capacity_curves(
        rep, LossCapacityOptions(ladder=ladder, importance="none"), np.random.default_rng([seed, 1])
    )
    return Configuration(
        name=case,
        iwo=Number(ours=iwo_score(_subspaces(rep, seed)).value, truth=closed_form(bases)),
        disentanglement=Number(ours=dci_forest(rep, rng=seed).disentanglement.value),
        explicitness=Number(ours=es_explicitness(curves).value),
    )


def _subspaces(rep: Representation, seed: int) -> Subspaces:
    return factor_subspaces(rep, SubspaceOptions(), np.random.default_rng([seed, 2]))


def _seventh_figure(settings: WorldSettings, seed: int, device: Device) -> NestedCurve:
    scheme = orthogonal_scheme(N_CODES, N_FACTORS, RANK, n_samples=settings.n_nested, n_levels=N_LEVELS, seed=seed)
    options = SubspaceOptions(solver="nested", device=device, heads=settings.heads, n_steps=settings.n_steps)
    found = factor_subspaces(scheme.representation, options, np.random.default_rng([seed, 3])).subspaces
    shares = np.mean([loss_shares(one.losses)[1 : RANK + 1] for one in found], axis=0)
    looks = min(len(one.history) for one in found)
    history = np.mean([one.history[:looks, : RANK + 1] for one in found], axis=0)
    return NestedCurve(
        losses=tuple(Number(ours=float(share), truth=1 - (place + 1) / RANK) for place, share in enumerate(shares)),
        steps=tuple(int(step) for step in history[:, 0]),
        training=tuple(tuple(round(float(value), 4) for value in row[1:]) for row in history),
    )


REASON_1 = "A configuration was not measured as its closed form says."
REASON_4 = (
    "Which functions networks find harder depends on the frequency of the cosines, which the paper does not give: with "
    "half a turn for each deviation explicitness of (iii) is -0.04, and the fast solver takes a part of so fast an "
    "oscillation for noise, with an IWO of 0.28 in place of 0.5."
)
REASON_7 = "Networks that were trained too briefly have not found all axes."


def small_world_checks(result: SmallWorlds) -> Sequence[Part]:
    """Hold scores against what the paper says of each configuration, and against closed forms."""
    return [
        Part(where="Fig. 1", checks=_first_checks(result.aligned), reason=REASON_1),
        Part(where="Fig. 4", checks=_fourth_checks(result.planes), reason=REASON_4),
        Part(where="Fig. 7", checks=_seventh_checks(result.nested), reason=REASON_7),
    ]


def _truths(found: Sequence[Configuration]) -> list[Check]:
    return [Check.of(f"IWO, {one.name}, closed form", one.iwo, tolerance=TOLERANCE) for one in found]


def _first_checks(found: Sequence[Configuration]) -> list[Check]:
    one, two, three = found
    return [
        Check(what="IWO, (i)", ours=one.iwo.ours, claim="perfect orthogonality", at_least=0.98),
        Check(what="D, (i)", ours=one.disentanglement.ours, claim="perfect disentanglement", at_least=0.95),
        Check(what="IWO, (ii)", ours=two.iwo.ours, claim="perfect orthogonality", at_least=0.98),
        Check(what="D, (ii)", ours=two.disentanglement.ours, claim="complete entanglement", at_most=0.05),
        Check(what="IWO, (iii)", ours=three.iwo.ours, claim="not orthogonal", at_most=0.9),
        Check(
            what="D, (iii) less (ii)",
            ours=difference(three.disentanglement.ours, two.disentanglement.ours),
            claim="higher than in (ii)",
            at_least=0.05,
        ),
        *_truths(found),
    ]


def _fourth_checks(found: Sequence[Configuration]) -> list[Check]:
    by_name = {one.name: one for one in found}

    def apart(first: str, second: str, score: str) -> float | None:
        a, b = (getattr(by_name[name], score).ours for name in (first, second))
        return difference(a, b)

    better_iwo = [
        Check(what=f"IWO, {a} less {b}", ours=apart(a, b, "iwo"), claim="better at right angles", at_least=0.1)
        for a, b in (("(i)", "(ii)"), ("(iii)", "(iv)"))
    ]
    better_e = [
        Check(what=f"E, {a} less {b}", ours=apart(a, b, "explicitness"), claim="better if quadratic", at_least=0.02)
        for a, b in (("(i)", "(iii)"), ("(ii)", "(iv)"))
    ]
    penalised = [
        Check(what=f"D, {one.name}", ours=one.disentanglement.ours, claim="penalised", at_most=0.75) for one in found
    ]
    return [*better_iwo, *better_e, *penalised, *_truths(found)]


def _seventh_checks(nested: NestedCurve) -> list[Check]:
    steps = []
    before: float | None = 1.0
    for place, number in enumerate(nested.losses):
        steps.append(
            Check(
                what=f"loss that axis {place + 1} removes",
                ours=difference(before, number.ours),
                claim="about 20 %",
                at_least=0.15,
                at_most=0.25,
            )
        )
        before = number.ours
    truths = [
        Check.of(f"loss with {place + 1} axes, closed form", number, tolerance=2 * TOLERANCE)
        for place, number in enumerate(nested.losses)
    ]
    return [*steps, *truths]
