"""Flows of handwritten digits: their training and measurement, core latents, and pictures of latents."""
