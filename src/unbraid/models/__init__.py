"""What makes codes and decoders: networks, flows, objectives and training; needs torch when used."""

from unbraid.models._encode import encode, encode_all
from unbraid.models._rates import code_rates
from unbraid.models._train import load_models, train

__all__ = ["code_rates", "encode", "encode_all", "load_models", "train"]
