"""Evidence from sparse codes, in time and memory that grow with the codes that are not 0."""
