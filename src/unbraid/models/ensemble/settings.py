"""Settings of an ensemble as plain data; a checkpoint keeps them, and a run goes on only with equal settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from unbraid._base.checks import check_at_least, check_choice
from unbraid.models.codes import CodeLayout
from unbraid.models.families import ADVERSARIAL_FAMILY, ENCODERS, HYPERPARAMETERS, ONE_FACTOR_FAMILY, TAKEN_BY

#: Of Table D.3 of Locatello et al. (2019).
DISCRIMINATOR_WIDTH = 1000
#: Fields of earlier checkpoints, and their names now.
RENAMED = {"strengths": "hyperparameters", "judge_width": "discriminator_width"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one ensemble: its models and the shape of its data.

    Attributes:
        model: One of the models' names.
        data: Kind and fingerprint of the data.
        n_rows: Rows of data.
        shape: Of one row.
        seeds: One for each member.
        hyperparameters: For each hyperparameter that the model has, its name and one number for each member.
        places: For a prior that depends on the factors, the prior mean of each value of each factor.
        labels: For each label that the model reads its role, its factor, and the number of its values.
        labelled: Share of the rows whose target the model sees.
        blocks: Names and sizes of the groups of codes that have a job each, in order.
        network: ``"conv"`` or ``"mlp"``.
        likelihood: ``"bernoulli"`` or ``"gaussian"``.
        n_codes: Dimensions of the codes.
        width: Channels of the first convolution; hidden layers have eight times as many units.
        convolutions: Channels and side of the kernel of each convolution, in place of those of the published models.
        encoder: ``"paper"``: convolutions of the encoder as in Table D.1, with kernels of 4 by 4; ``"library"``: as in
            the published code, with kernels of 2 by 2 from the third on.
        discriminator_width: Units of the hidden layers of a discriminator.
        batch_size: Rows of a step, for each member.
        learning_rate: Of Adam, at the start.
        milestones: Steps after which the learning rate is divided by 10; without any it is constant.
        precision: ``"float32"`` or ``"bfloat16"``.
        categories: Number of values of each categorical code of InfoGAN; a value is a column of the codes.
        noise_dim: Columns of noise that InfoGAN generates from beside the codes.
    """

    model: str
    data: str
    n_rows: int
    shape: tuple[int, ...]
    seeds: tuple[int, ...]
    hyperparameters: tuple[tuple[str, tuple[float, ...]], ...] = ()
    places: tuple[tuple[float, ...], ...] = ()
    labels: tuple[tuple[str, str, int], ...] = ()
    labelled: float = 1.0
    blocks: tuple[tuple[str, int], ...] = ()
    network: str = "conv"
    likelihood: str = "bernoulli"
    n_codes: int = 10
    width: int = 32
    convolutions: tuple[tuple[int, int], ...] = ()
    encoder: str = ENCODERS[0]
    discriminator_width: int = DISCRIMINATOR_WIDTH
    batch_size: int = 64
    learning_rate: float = 1e-4
    milestones: tuple[int, ...] = ()
    precision: str = "float32"
    categories: tuple[int, ...] = ()
    noise_dim: int = 0

    def __post_init__(self) -> None:
        check_choice("model", self.model, HYPERPARAMETERS)
        check_choice("network", self.network, ("conv", "mlp"))
        check_choice("likelihood", self.likelihood, ("bernoulli", "gaussian"))
        check_choice("encoder", self.encoder, ENCODERS)
        if self.encoder != ENCODERS[0] and (self.network != "conv" or self.convolutions):
            raise ValueError(
                f"encoder {self.encoder!r} is for network 'conv' with its own convolutions; leave out network and "
                "convolutions."
            )
        check_choice("precision", self.precision, ("float32", "bfloat16"))
        for name in ("n_codes", "width", "discriminator_width", "batch_size"):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("number of seeds", len(self.seeds), 1)
        for n_channels, kernel in self.convolutions:
            check_at_least("channels of a convolution", n_channels, 1)
            if kernel < 1 or kernel % 2 == 0:
                raise ValueError(f"kernels of convolutions must have odd sides, got {kernel}.")
        if list(self.milestones) != sorted(set(self.milestones)) or any(step < 1 for step in self.milestones):
            raise ValueError(f"milestones must be rising numbers of steps from 1 on, got {list(self.milestones)}.")

        check_at_least("noise_dim", self.noise_dim, 0)
        for size in self.categories:
            check_at_least("categories", size, 2)
        if sum(self.categories) > self.n_codes:
            raise ValueError(
                f"n_codes must be at least {sum(self.categories)}, a column for each value of categories "
                f"{list(self.categories)}, got {self.n_codes}."
            )
        if self.blocks and sum(size for _, size in self.blocks) != self.n_codes:
            sizes = ", ".join(f"{name} {size}" for name, size in self.blocks)
            raise ValueError(f"blocks must add up to n_codes, {self.n_codes}, got {sizes}; leave out n_codes.")

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate after ``step`` steps."""
        n_passed = sum(step >= milestone for milestone in self.milestones)
        return float(self.learning_rate / 10**n_passed)

    @property
    def has_discriminator(self) -> bool:
        """Whether the model comes with a discriminator."""
        return self.model == "factor_vae"

    @property
    def context(self) -> str:
        """The factor whose value a row is encoded and decoded with; empty for a model that needs none."""
        return next((factor for role, factor, _ in self.labels if self.model == "vfae" and role == "s"), "")

    @property
    def layout(self) -> CodeLayout:
        """Columns of codes and noise of InfoGAN."""
        n_continuous = self.n_codes - sum(self.categories)
        return CodeLayout(categories=self.categories, n_continuous=n_continuous, n_noise=self.noise_dim)

    def entropies(self) -> dict[str, float]:
        """Return the entropy of the codes that each part of the loss which is an information is compared with."""
        if self.model != ADVERSARIAL_FAMILY:
            return {}
        layout = self.layout
        both = {
            "categorical_information": (layout.n_values, layout.categorical_entropy),
            "continuous_information": (layout.n_continuous, layout.continuous_entropy),
        }
        return {name: entropy for name, (n_columns, entropy) in both.items() if n_columns}

    @property
    def n_noise(self) -> int:
        """Random numbers of a row at each step: one for each code, of both layers where there are two."""
        if self.model == ADVERSARIAL_FAMILY:
            return self.layout.n_drawn
        return 2 * self.n_codes if self.model == "vfae" else self.n_codes

    @property
    def has_one_factor_batches(self) -> bool:
        """Whether the rows of a batch differ in one factor only."""
        return self.model == ONE_FACTOR_FAMILY

    def n_values(self, role: str) -> int:
        """Return how many values a label has."""
        return next(n_values for name, _, n_values in self.labels if name == role)

    def block_columns(self) -> dict[str, list[int]]:
        """Return the columns of each block of codes; nothing for a model without blocks."""
        return {name: list(span) for name, span in self.block_spans().items()}

    def block_spans(self) -> dict[str, range]:
        """Return where each block of codes begins and ends, without a number for each of its columns."""
        found, start = {}, 0
        for name, size in self.blocks:
            found[name] = range(start, start + size)
            start += size
        return found

    def only(self, members: Sequence[int]) -> Settings:
        """Return the settings of some members."""
        return replace(
            self,
            seeds=tuple(self.seeds[m] for m in members),
            hyperparameters=tuple((name, tuple(values[m] for m in members)) for name, values in self.hyperparameters),
        )

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read settings that :meth:`to_json` wrote, also with the names of earlier versions."""
        return cls(**{RENAMED.get(name, name): _tuples(value) for name, value in json.loads(text).items()})


def differences(before: Settings, after: Settings) -> list[str]:
    """Return the differences in words, such as ``n_codes 10 -> 6``, of what the models take."""
    old, new = asdict(before), asdict(after)
    idle = {name for name, families in TAKEN_BY.items() if not {before.model, after.model} & set(families)}
    changed = [name for name in old if old[name] != new[name] and name not in idle]
    return [f"{name} {_words(old[name])} -> {_words(new[name])}" for name in changed]


def member_hyperparameters(
    model: str, given: Mapping[str, float | Sequence[float]], seeds: int | Sequence[int]
) -> tuple[tuple[int, ...], tuple[tuple[str, tuple[float, ...]], ...]]:
    """Return the seed and the hyperparameters of each member; a single value is used for all members.

    Args:
        model: Name of the family, which has the hyperparameters and their defaults.
        given: Strengths by name.
        seeds: Of the members.

    Raises:
        ValueError: An unknown model or hyperparameter, or sequences of different lengths.
    """
    check_choice("model", model, HYPERPARAMETERS)
    for name in given:
        if name not in HYPERPARAMETERS[model]:
            known = ", ".join(HYPERPARAMETERS[model]) or "none"
            raise ValueError(f"{model} has no hyperparameter {name!r}; it has {known}.")
    columns = {
        "seeds": _column(seeds),
        **{name: _column(given.get(name, d)) for name, d in HYPERPARAMETERS[model].items()},
    }
    n_models = max(len(column) for column in columns.values())
    for name, column in columns.items():
        if len(column) not in (1, n_models):
            raise ValueError(f"{name} must be one value or {n_models}, one for each member, got {len(column)}.")
    full = {name: column * (n_models if len(column) == 1 else 1) for name, column in columns.items()}
    numbers = tuple(int(seed) for seed in full.pop("seeds"))
    return numbers, tuple((name, tuple(float(value) for value in column)) for name, column in full.items())


def _column(value: Any) -> tuple[Any, ...]:
    return tuple(value) if hasattr(value, "__len__") or hasattr(value, "__iter__") else (value,)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def _words(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else value
    return text if len(text) <= 80 else f"{text[:77]}..."
