"""The VAE of coloured digits: its training, the digits it generates, and a classifier of generated digits."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unbraid._base.arrays import BoolArray, FloatArray, IntArray
from unbraid._base.checks import check_at_least
from unbraid._base.images import png
from unbraid._base.progress import Show
from unbraid.data.coloured import BACKGROUND_COLOURS, DIGIT_COLOURS, ColouredDigits
from unbraid.data.mnist import Digits

if TYPE_CHECKING:
    from unbraid.models.ensemble import TrainedEnsemble

#: Neighbours that vote on the class of a generated digit.
N_NEIGHBOURS = 5
GAP, GROUP_GAP, LABEL, SCALE = 2, 10, 16, 2
FONT = 'font-family="system-ui, sans-serif" font-size="11" text-anchor="middle" fill="#222"'


def all_combinations(sizes: Sequence[int]) -> IntArray:
    """Every combination of digit and colours, ``(n, 3)``; digits run fastest, so that a colouring stays together."""
    n_digits, n_inks, n_papers = sizes
    return np.array([(d, ink, paper) for paper, ink, d in product(range(n_papers), range(n_inks), range(n_digits))])


def with_factors_set(styles: FloatArray, combinations: IntArray, places: Sequence[Sequence[float]]) -> FloatArray:
    """Repeat each row of codes for each combination, with the codes of the factors moved to their places.

    Args:
        styles: Codes of some pictures, ``(n_styles, n_codes)``; the codes past the factors' are kept.
        combinations: Factor values, ``(n_combinations, n_factors)``.
        places: For each factor, where its code is for each value.

    Returns:
        Codes, ``(n_styles, n_combinations, n_codes)``.
    """
    codes = np.repeat(styles[:, None], len(combinations), axis=1)
    for k, values in enumerate(places):
        codes[:, :, k] = np.array(values)[combinations[:, k]]
    return codes


def seen_factors(pictures: NDArray[np.floating], known: ColouredDigits) -> IntArray:
    """Predict digit and colours from the pixels alone, by a classifier that is independent of the network.

    The digit is red where red outshines green, the background white where the frame is light. Ink is the difference
    between red and green, whatever the background; the digit is that of the most similar inks of known pictures.

    Args:
        pictures: Red, green and blue from 0 to 1, ``(n, 3, height, width)``.
        known: Digits to compare with, of the same size.

    Returns:
        Factor values as in ``known``, ``(n, 3)``.
    """
    from sklearn.neighbors import KNeighborsClassifier

    redness = pictures[:, 0] - pictures[:, 1]
    light = pictures.mean(axis=1)
    frame = np.concatenate([light[:, 0], light[:, -1], light[:, :, 0], light[:, :, -1]], axis=1)
    classifier = KNeighborsClassifier(N_NEIGHBOURS).fit(_flat(known.digits.images / 255), known.digits.labels)
    digit = classifier.predict(_flat(np.abs(redness)))
    return np.stack([digit, redness.sum(axis=(1, 2)) < 0, frame.mean(axis=1) > 0.5], axis=1).astype(np.intp)


def grid_svg(originals: NDArray[np.floating], generated: NDArray[np.floating], n_digits: int) -> str:
    """Draw one row for each style: the picture it comes from, then the digits in every colouring.

    Args:
        originals: ``(n_styles, 3, height, width)``, from 0 to 1.
        generated: ``(n_styles, n_combinations, 3, height, width)`` in the order of :func:`all_combinations`.
        n_digits: Digits in each colouring.
    """
    n_groups = generated.shape[1] // n_digits
    names = [f"{ink} on {paper}" for paper, ink in product(BACKGROUND_COLOURS, DIGIT_COLOURS)]
    side = generated.shape[-1] + GAP
    starts = [side + GROUP_GAP + g * (n_digits * side + GROUP_GAP) for g in range(n_groups)]
    blocks = [(0, originals[:, None])]
    blocks += [(start, generated[:, g * n_digits : (g + 1) * n_digits]) for g, start in enumerate(starts)]
    parts = [_label(side / 2, 1, "from")]
    for start, name in zip(starts, names, strict=True):
        parts.append(_label(start + n_digits * side / 2, 0, name))
        parts += [_label(start + (d + 0.5) * side, 1, str(d)) for d in range(n_digits)]
    parts += [_image(start, block) for start, block in blocks]
    width = SCALE * (starts[-1] + n_digits * side)
    height = 2 * LABEL + SCALE * len(originals) * (generated.shape[-2] + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        "<title>Digits generated with each factor set on its own</title>"
        f'<rect width="100%" height="100%" fill="#c8c8c8"/>{"".join(parts)}</svg>\n'
    )


def _label(x: float, line: int, text: str) -> str:
    return f'<text x="{SCALE * x:g}" y="{line * LABEL + 12}" {FONT}>{text}</text>'


def _image(start: int, block: NDArray[np.floating]) -> str:
    pixels = np.round(255 * np.clip(block, 0, 1)).astype(np.uint8)
    padded = np.pad(pixels, ((0, 0), (0, 0), (0, 0), (0, GAP), (0, GAP)), constant_values=200)
    rows, columns, _, height, width = padded.shape
    sheet = padded.transpose(0, 3, 1, 4, 2).reshape(rows * height, columns * width, 3)
    data = base64.b64encode(png(np.ascontiguousarray(sheet))).decode()
    return (
        f'<image x="{SCALE * start}" y="{2 * LABEL}" '
        f'width="{SCALE * columns * width}" height="{SCALE * rows * height}" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def _flat(images: NDArray[np.floating]) -> NDArray[np.floating]:
    return images.reshape(len(images), -1)


#: Prior means of the codes of digit (0 to 3), digit colour (red, green) and background colour (black, white), App. D.
PLACES = ((-10.0, -10 / 3, 10 / 3, 10.0), (-2.0, 2.0), (-2.0, 2.0))
#: Channels and side of the kernel of each convolution of the encoder, App. D.
CONVOLUTIONS = ((16, 7), (16, 5), (32, 3), (32, 3))
#: The learning rate is divided by 10 after epochs 80, 120 and 160 of 200, App. D.
MILESTONES = (0.4, 0.6, 0.8)
N_STYLES, N_STYLES_DRAWN = 100, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VaeSettings:
    """Network and training, by default those of App. D.

    Attributes:
        n_codes: Codes, of which the first three belong to the factors; the hidden layers have as many units.
        beta: Weight of the divergence from the prior, beside the squared error averaged over pixels and channels.
        n_epochs: Training steps, in numbers of batches that make up the training digits.
        batch_size: Digits of a training step.
        learning_rate: Learning rate of Adam; it is divided by 10 after 40, 60 and 80 of 100 epochs.
    """

    n_codes: int = 64
    beta: float = 0.005
    n_epochs: int = 200
    batch_size: int = 128
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_at_least("n_epochs", self.n_epochs, 1)
        check_at_least("n_codes", self.n_codes, len(PLACES))
        check_at_least("beta", self.beta, 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColouredCodes:
    """Codes and generated digits of one trained network.

    Attributes:
        codes: Posterior means of the held-out digits, ``(n, n_codes)``.
        factors: Their factors, ``(n, 3)``.
        train_codes: Posterior means of the training digits.
        train_factors: Factors of the training digits.
        as_asked: Whether a generated picture shows the value asked for, ``(n_styles, n_combinations, n_factors)``.
        classifier_accuracy: For each factor, the accuracy of the classifier of generated pictures on held-out pictures.
        picture: The grid of generated digits, as SVG.
    """

    codes: FloatArray
    factors: IntArray
    train_codes: FloatArray
    train_factors: IntArray
    as_asked: BoolArray
    classifier_accuracy: FloatArray
    picture: str


def learn_codes(
    sets: Sequence[tuple[ColouredDigits, ColouredDigits]],
    settings: VaeSettings,
    *,
    device: str = "cpu",
    store: str | Path | None = None,
    progress: Show = None,
) -> list[ColouredCodes]:
    """Train a VAE for each pair of a training and a test set, all as one ensemble, with seeds 0, 1, ...

    Both sets of each pair are encoded, and digits are generated in the styles of the test set.

    Args:
        sets: Training and test set of each network.
        settings: Network and training.
        device: Where to train.
        store: Folder for checkpoints, where a later call goes on.
        progress: Show a progress bar on standard error; by default when that is a terminal.
    """
    models = _trained([train for train, _ in sets], settings, device=device, store=store, progress=progress)
    return [_codes(models[m], *pair, settings) for m, pair in enumerate(sets)]


def _codes(model: TrainedEnsemble, train: ColouredDigits, test: ColouredDigits, settings: VaeSettings) -> ColouredCodes:
    pictures, held_out = _pictures(train), _pictures(test)
    train_factors, factors = (data.factors(np.arange(len(data))) for data in (train, test))
    codes = model.encode(held_out)[0]
    combinations = all_combinations(train.factor_sizes)
    wanted = with_factors_set(codes[:N_STYLES], combinations, PLACES)
    flat = model.decode(wanted.reshape(1, -1, settings.n_codes))[0]
    generated = flat.reshape(*wanted.shape[:2], *flat.shape[1:])
    asked = np.tile(combinations, (len(wanted), 1))
    drawn = min(N_STYLES_DRAWN, len(wanted))
    return ColouredCodes(
        codes=codes,
        factors=factors,
        train_codes=model.encode(pictures)[0],
        train_factors=train_factors,
        as_asked=(seen_factors(flat, train) == asked).reshape(*wanted.shape[:2], -1),
        classifier_accuracy=(seen_factors(held_out, train) == factors).mean(axis=0),
        picture=grid_svg(held_out[:drawn], generated[:drawn], train.factor_sizes[0]),
    )


def n_steps_of(settings: VaeSettings, n_digits: int) -> int:
    """Return the training steps of so many digits."""
    return settings.n_epochs * math.ceil(n_digits / settings.batch_size)


def _trained(
    sets: Sequence[ColouredDigits],
    settings: VaeSettings,
    *,
    device: str,
    store: str | Path | None = None,
    progress: Show = None,
) -> TrainedEnsemble:
    """Train the VAEs of App. D: mean squared error over pixels, plus beta times the divergence summed over codes.

    The Gaussian likelihood of the ensembles has half the summed squared error in place of the mean. All of the loss is
    multiplied alike, beta too, and the steps of Adam do not depend on such a factor.
    """
    from unbraid.models import train

    data = _joined(sets)
    ends = np.cumsum([len(one) for one in sets])
    n_steps = n_steps_of(settings, len(sets[0]))
    milestones = sorted({max(1, round(share * n_steps)) for share in MILESTONES})
    return train(
        "conditioned_vae",
        data,
        seeds=range(len(sets)),
        member_rows=[np.arange(end - len(one), end) for one, end in zip(sets, ends, strict=True)],
        places=PLACES,
        beta=settings.beta * math.prod(data.observation_shape) / 2,
        likelihood="gaussian",
        n_codes=settings.n_codes,
        convolutions=CONVOLUTIONS,
        width=max(1, settings.n_codes // 8),
        n_steps=n_steps,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        milestones=milestones,
        precision="float32",
        device=device,
        out=store,
        progress=progress,
    )


def _joined(sets: Sequence[ColouredDigits]) -> ColouredDigits:
    """Return all sets one after the other as one."""
    digits = Digits(
        images=np.concatenate([one.digits.images for one in sets]),
        labels=np.concatenate([one.digits.labels for one in sets]),
    )
    factors = np.concatenate([one.factors(np.arange(len(one))) for one in sets])
    return ColouredDigits(digits, factors, n_digits=sets[0].factor_sizes[0])


def _pictures(data: ColouredDigits) -> NDArray[np.float32]:
    return data.observations(np.arange(len(data))).astype(np.float32)
