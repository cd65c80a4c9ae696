"""Memory budgets: sizes of batches and of chunks of Jacobians."""

from __future__ import annotations

from typing import Any, NamedTuple

from unbraid._base.memory import available_bytes, check_memory

# Half of the budget is for one chunk of Jacobians and what is made from it, half for passes of the decoder.
SHARE = 0.5
MOST_ROWS_AT_ONCE = 2**15
DEFAULT_MEMORY = "2GiB"


class Chunk(NamedTuple):
    """Jacobians of some samples.

    Attributes:
        start: Position of the first.
        jacobian: ``(rows, data, latent)``; NumPy, or torch on a GPU.
    """

    start: int
    jacobian: Any


def sample_bytes(data_dim: int, latent_dim: int, itemsize: int) -> int:
    """Return the bytes of one sample's Jacobian and of the matrices made from it."""
    return itemsize * data_dim * latent_dim + (5 * itemsize + 16) * latent_dim**2


def rows_that_fit(memory: int, data_dim: int, latent_dim: int, itemsize: int) -> int:
    """Return how many samples' Jacobians and matrices made from them fit; one at least."""
    return max(1, int(SHARE * memory / sample_bytes(data_dim, latent_dim, itemsize)))


def rows_at_once(memory: int, row_bytes: int) -> int:
    """Return how many rows one pass of a decoder may take; one at least."""
    return max(1, min(MOST_ROWS_AT_ONCE, int(SHARE * memory / row_bytes)))


# Latents, lengths of columns and their logarithms; matrices of pairs: sums, squares, means, errors and their copies.
ARRAYS_OF_SAMPLES, MATRICES_OF_PAIRS = 5, 10


def check_samples(n_samples: int, latent_dim: int, memory: int) -> None:
    """Raise where numbers of all samples, which are kept whatever the budget, take more than budget and machine have.

    Raises:
        TooMuchMemoryError: Before any is drawn.
    """
    needed = 8 * (ARRAYS_OF_SAMPLES * n_samples * latent_dim + MATRICES_OF_PAIRS * latent_dim**2)
    work = f"{n_samples:,} samples of {latent_dim:,} latents"
    check_memory(work, needed, max(memory, available_bytes()), cure="give fewer --samples (n_samples)")


def check_one_sample(data_dim: int, latent_dim: int, itemsize: int, row_bytes: int, memory: int) -> None:
    """Raise where the Jacobian of one sample, the least there can be, takes more than budget and machine have.

    Raises:
        TooMuchMemoryError: Before any is computed.
    """
    needed = sample_bytes(data_dim, latent_dim, itemsize) + row_bytes
    work = f"the Jacobian of one sample, {data_dim:,} outputs by {latent_dim:,} latents,"
    check_memory(work, needed, max(memory, available_bytes()), cure="measure fewer outputs or latents")


def check_rank(latent_dim: int, data_dim: int) -> None:
    """Raise where a Jacobian cannot have full rank."""
    if latent_dim > data_dim:
        raise ValueError(
            f"latent_dim must be at most the size of an output, got {latent_dim} latents and {data_dim} outputs: the "
            "Jacobian is rank-deficient, volumes are 0 and entropies do not exist; measure fewer latents or more "
            "outputs."
        )
