"""Metrics of information: entropies and mutual information of codes and factors."""
