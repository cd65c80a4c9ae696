"""Codes and labelled factors, and the files they are read from."""
