"""Model families that can be trained, and the hyperparameters of each with their defaults."""

from collections.abc import Iterable
from types import MappingProxyType

#: Hyperparameters by family. Defaults lie inside the ranges of the published study of 1800 models.
HYPERPARAMETERS = MappingProxyType(
    {
        "vae": {},
        "beta_vae": {"beta": 4.0},
        "annealed_vae": {"gamma": 1000.0, "capacity": 25.0, "capacity_steps": 100_000.0},
        "factor_vae": {"gamma": 30.0},
        "beta_tcvae": {"beta": 6.0},
        "dip_vae_i": {"off_diagonal": 5.0, "diagonal": 50.0},
        "dip_vae_ii": {"off_diagonal": 5.0, "diagonal": 5.0},
        "conditioned_vae": {"beta": 1.0},
        "diva": {"beta": 1.0, "alpha_y": 3500.0, "alpha_d": 2000.0, "warm_up": 1000.0},
        "vfae": {"alpha": 1.0, "mmd": 1000.0},
        "dc_ign": {"invariance": 1.0, "rest": 10.0},
        "info_gan": {"weight": 1.0, "continuous_share": 0.1, "deviation": 0.0},
    }
)
#: Roles of the labels that a family reads, in the order of the factors that have them by default.
LABEL_ROLES = MappingProxyType({"diva": ("y", "d"), "vfae": ("y", "s")})
#: The family that reserves a code for each of some factors, and draws batches in which one factor varies.
ONE_FACTOR_FAMILY = "dc_ign"
#: Names of the three blocks of DIVA, in the order of their codes; and of the codes that no factor of DC-IGN has.
DIVA_BLOCKS, REST_BLOCK = ("z_d", "z_y", "z_x"), "rest"
#: The family without a likelihood, whose codes are categorical, continuous or both.
ADVERSARIAL_FAMILY = "info_gan"
#: Options of training that some families take, and these families; all other options are for every family.
TAKEN_BY = MappingProxyType(
    {
        "labels": (*LABEL_ROLES, ONE_FACTOR_FAMILY),
        "labelled": tuple(LABEL_ROLES),
        "blocks": ("diva",),
        "categories": (ADVERSARIAL_FAMILY,),
        "noise_dim": (ADVERSARIAL_FAMILY,),
        "places": ("conditioned_vae",),
        "discriminator_width": ("factor_vae",),
    }
)
#: Further terms of the loss of families with labels, without their weights.
TERMS = MappingProxyType(
    {
        "diva": ("rate_d", "rate_y", "rate_x", "class_rate", "domain", "target"),
        "vfae": ("rate_1", "rate_2", "class_rate", "target", "discrepancy"),
    }
)
#: Kernels of the encoder: as the table of the published study has them, and as its published code has.
ENCODERS = ("paper", "library")


def check_taken(family: str, given: Iterable[str]) -> None:
    """Raise on the first option that a family does not take, as it would change nothing.

    Args:
        family: Name of the family.
        given: Names of the options that have a value; see :data:`TAKEN_BY`.

    Raises:
        ValueError: With the families that take it.
    """
    for name in given:
        if family not in TAKEN_BY.get(name, (family,)):
            verb, it = ("are", "them") if name.endswith("s") else ("is", "it")
            raise ValueError(f"{name} {verb} for {', '.join(TAKEN_BY[name])}, got {it} for {family}.")


def loss_parts(family: str) -> tuple[str, ...]:
    """Return the parts of the loss that are kept while training, in order; the first is the loss itself."""
    if family == ADVERSARIAL_FAMILY:
        return ("loss", "value", "categorical_information", "continuous_information")
    return ("loss", "distortion", "rate", *TERMS.get(family, ()))
