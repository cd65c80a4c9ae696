"""Networks of the families that have labels, blocks of codes or a generator."""
