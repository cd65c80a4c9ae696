"""Evidence gathered from all rows of files that do not fit into memory, block by block."""
