"""The table of the families whose networks or steps differ from those of a VAE."""

from collections.abc import Mapping

from unbraid.models.ensemble.families.dc_ign import ClampedVAE
from unbraid.models.ensemble.families.diva import DomainVAE
from unbraid.models.ensemble.families.info_gan import InfoGAN
from unbraid.models.ensemble.families.vfae import FairVAE
from unbraid.models.ensemble.networks import EnsembleVAE
from unbraid.models.ensemble.settings import Settings

#: Families whose networks or steps differ from those of a VAE.
NETWORKS: Mapping[str, type[EnsembleVAE]] = {
    "diva": DomainVAE,
    "vfae": FairVAE,
    "dc_ign": ClampedVAE,
    "info_gan": InfoGAN,
}


def network_class(settings: Settings) -> type[EnsembleVAE]:
    """Return the class of the networks of a family."""
    return NETWORKS.get(settings.model, EnsembleVAE)


def build_network(settings: Settings) -> EnsembleVAE:
    """Return the networks of an ensemble, with weights drawn from their seeds."""
    return network_class(settings)(settings)
