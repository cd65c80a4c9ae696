"""Model families that can be trained, and the hyperparameters of each with their defaults."""

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
    }
)
