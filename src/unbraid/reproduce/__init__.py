"""Published tables as code: ours beside theirs beside the truth."""

from unbraid.reproduce._coloured_scores import PAPER_LINES, PaperLine
from unbraid.reproduce._dependent_mnist import DependentMnist, LineResult, dependent_mnist
from unbraid.reproduce._iwo_table1 import IWO_TABLE1, PaperRow, RowResult, Table1, iwo_table1
from unbraid.reproduce._reproduction import Reproduction

REPRODUCTIONS: dict[str, Reproduction] = {
    reproduction.name: reproduction
    for reproduction in (
        Reproduction(
            name="iwo-table1",
            title="IWO and IWR of synthetic codes whose subspaces are known",
            paper="Geyer et al. (2024), Measuring Orthogonality, Table 1; arXiv:2407.03728",
            cost="minutes with the fast solver",
            run=iwo_table1,
        ),
        Reproduction(
            name="dependent-mnist",
            title="Coloured digits: a VAE that separates dependent factors, and what metrics say of it",
            paper="Almudévar et al. (2024), Disentanglement for non-Independent Factors, sec. 6; arXiv:2408.07016",
            cost="minutes, and torch",
            run=dependent_mnist,
        ),
    )
}

__all__ = [
    "IWO_TABLE1",
    "PAPER_LINES",
    "REPRODUCTIONS",
    "DependentMnist",
    "LineResult",
    "PaperLine",
    "PaperRow",
    "Reproduction",
    "RowResult",
    "Table1",
    "dependent_mnist",
    "iwo_table1",
]
