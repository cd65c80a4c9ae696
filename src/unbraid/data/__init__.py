"""Where data with known factors comes from."""

from unbraid.data._example import example
from unbraid.data._orthogonal_scheme import OrthogonalScheme, orthogonal_scheme

__all__ = ["OrthogonalScheme", "example", "orthogonal_scheme"]
