"""Models that make codes and decoders: networks, flows, objectives and training; training needs torch."""

from unbraid.models.encoding import code_rates, encode, encode_all
from unbraid.models.training import load_models, train

__all__ = ["code_rates", "encode", "encode_all", "load_models", "train"]
