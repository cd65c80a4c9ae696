"""Formats of other tools: AnnData, safetensors, Arrow, zarr, torch, sparse matrices, and files in shards."""
