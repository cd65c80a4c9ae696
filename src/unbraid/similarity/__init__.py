"""Similarity of representations of the same rows, without labels: CKA, Procrustes, CCA, RSA, and dictionaries."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbraid.similarity.matching import dictionaries as dictionaries
    from unbraid.similarity.measures import cca as cca
    from unbraid.similarity.measures import cka as cka
    from unbraid.similarity.measures import procrustes as procrustes
    from unbraid.similarity.measures import rsa as rsa
    from unbraid.similarity.table import MEASURES as MEASURES
    from unbraid.similarity.table import SimilarityTable as SimilarityTable
    from unbraid.similarity.table import similarities as similarities
else:
    from unbraid._base.lazy import public_names

    __getattr__, __dir__, __all__ = public_names(__name__)
