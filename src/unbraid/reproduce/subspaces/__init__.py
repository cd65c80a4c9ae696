"""Figures of Measuring Orthogonality: small worlds whose subspaces are known in closed form."""
