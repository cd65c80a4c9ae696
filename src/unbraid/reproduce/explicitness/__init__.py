"""Loss-capacity curves of reproductions, and probes of pictures of our own."""
