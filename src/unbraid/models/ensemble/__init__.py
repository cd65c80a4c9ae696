"""Ensembles of VAEs: networks with a leading axis of models, trained together; needs torch."""

from unbraid.models.ensemble.checkpoint import load_checkpoint, save_checkpoint
from unbraid.models.ensemble.engine import EnsembleEngine
from unbraid.models.ensemble.loop import Run, train_ensemble
from unbraid.models.ensemble.networks import EnsembleVAE
from unbraid.models.ensemble.settings import Settings
from unbraid.models.ensemble.source import BatchSource
from unbraid.models.ensemble.trained import TrainedEnsemble, load_ensemble
from unbraid.models.ensemble.training import train_vaes

__all__ = [
    "BatchSource",
    "EnsembleEngine",
    "EnsembleVAE",
    "Run",
    "Settings",
    "TrainedEnsemble",
    "load_checkpoint",
    "load_ensemble",
    "save_checkpoint",
    "train_ensemble",
    "train_vaes",
]
