"""Asking for torch, which not everyone has."""


def require_torch(purpose: str) -> None:
    """Raise a sentence that says how to get torch unless it can be imported.

    Args:
        purpose: What needs it, as the subject of the sentence.
    """
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ValueError(f"{purpose} needs torch, which is not installed; run pip install 'unbraid[torch]'.") from error


def require_flows(purpose: str) -> None:
    """Raise a sentence that says how to get torch and zuko unless both can be imported.

    Args:
        purpose: What needs them, as the subject of the sentence.
    """
    require_torch(purpose)
    try:
        import zuko  # noqa: F401
    except ImportError as error:
        raise ValueError(f"{purpose} needs zuko, which is not installed; run pip install 'unbraid[train]'.") from error
