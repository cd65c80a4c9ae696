"""Where data with known factors comes from."""

from unbraid.data._example import example

__all__ = ["example"]
