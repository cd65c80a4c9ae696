"""Loss-capacity curves of reproductions."""
