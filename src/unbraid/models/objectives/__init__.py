"""Losses of models as functions of data and distributions.

Every loss is averaged over the last axis of a batch and keeps the axes before it, so that one call serves a single
model (rows ``[n]``) or an ensemble (rows ``[n_models, n]``), whose hyperparameters may be tensors, one number for each
model.
"""

from unbraid.models.objectives.dc_ign import clamp_codes
from unbraid.models.objectives.diva import DivaLoss, diva_loss
from unbraid.models.objectives.info_gan import (
    InfoGanLoss,
    categorical_information,
    continuous_information,
    gan_value,
    generator_loss,
    info_gan_loss,
)
from unbraid.models.objectives.labels import UNKNOWN, class_weights, cross_entropy, one_hot, uniform_divergence
from unbraid.models.objectives.vae import (
    Hyperparameter,
    Loss,
    annealed_vae_loss,
    beta_tcvae_loss,
    capacity_at,
    covariance_penalty,
    dip_vae_loss,
    discriminator_loss,
    factor_prior,
    factor_vae_loss,
    shuffle_codes,
    total_correlation,
    vae_loss,
)
from unbraid.models.objectives.vfae import VfaeLoss, discrepancy, vfae_loss

__all__ = [
    "UNKNOWN",
    "DivaLoss",
    "Hyperparameter",
    "InfoGanLoss",
    "Loss",
    "VfaeLoss",
    "annealed_vae_loss",
    "beta_tcvae_loss",
    "capacity_at",
    "categorical_information",
    "clamp_codes",
    "class_weights",
    "continuous_information",
    "covariance_penalty",
    "cross_entropy",
    "dip_vae_loss",
    "discrepancy",
    "discriminator_loss",
    "diva_loss",
    "factor_prior",
    "factor_vae_loss",
    "gan_value",
    "generator_loss",
    "info_gan_loss",
    "one_hot",
    "shuffle_codes",
    "total_correlation",
    "uniform_divergence",
    "vae_loss",
    "vfae_loss",
]
