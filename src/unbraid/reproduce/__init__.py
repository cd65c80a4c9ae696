"""Published tables as code: ours beside theirs beside the truth."""

from unbraid.reproduce.agreement import Check, Colour, Part, Reproduction, Standing
from unbraid.reproduce.cosine import CosineTables, cosine_parts, dependent_cosine
from unbraid.reproduce.dci_es import DCI_ES_TABLE1, ESTable, dci_es_parts, dci_es_table1
from unbraid.reproduce.dependent_digits import (
    PAPER_LINES,
    DependentMnist,
    LineResult,
    PaperLine,
    dependent_mnist,
    mnist_parts,
)
from unbraid.reproduce.figure_checks import digits_parts, moons_parts, spectrum_parts, torus_parts
from unbraid.reproduce.figures import PAPER, FigureResult, Line
from unbraid.reproduce.flows_of_digits import DigitsSettings, digits_flows
from unbraid.reproduce.iwo import IWO_TABLE1, PaperRow, RowResult, Table1, iwo_parts, iwo_table1
from unbraid.reproduce.iwo_tables import iwo_study
from unbraid.reproduce.studies import iwo_study_parts, thesis_parts, thesis_study
from unbraid.reproduce.torus_flow import TorusSettings, torus
from unbraid.reproduce.two_moons import MoonsSettings, moons
from unbraid.reproduce.vae_spectrum import SpectrumSettings, beta_vae_spectrum

THESIS = "Bjøru (2021), The importance of disentanglement when learning representations, NTNU, Fig. E.1"
MNIST = "a folder with MNIST in IDX format (--data)"
REPRODUCTIONS: dict[str, Reproduction] = {
    reproduction.name: reproduction
    for reproduction in (
        Reproduction(
            name="iwo-table1",
            title="IWO and IWR of synthetic codes whose subspaces are known",
            paper="Geyer et al. (2024), Measuring Orthogonality, Table 1; arXiv:2407.03728",
            cost="minutes with the fast solver",
            run=iwo_table1,
            quick={"n_seeds": 1},
            parts=iwo_parts,
        ),
        Reproduction(
            name="dci-es-table1",
            title="DCI-ES scores of labels, noisy labels and mixed labels, by networks and forests",
            paper="Eastwood et al. (2023), On the DCI Framework, Table 1 and Fig. 1; arXiv:2210.00364",
            cost="ten minutes; half a minute with --quick",
            run=dci_es_table1,
            quick={"n_samples": (3000,), "n_seeds": 1, "widths": (2, 8, 32), "n_trees": 30},
            parts=dci_es_parts,
        ),
        Reproduction(
            name="dependent-cosine",
            title="Metrics on cosines of factors, independent and dependent",
            paper="Almudévar et al. (2024), Defining and Measuring Disentanglement for non-Independent Factors, "
            "Tables 2, 3, 4, 10 and 11; arXiv:2408.07016",
            cost="about two minutes",
            run=dependent_cosine,
            quick={"n_samples": 2000},
            parts=cosine_parts,
        ),
        Reproduction(
            name="dependent-mnist",
            title="Coloured digits: a VAE that separates dependent factors, and what metrics say of it",
            paper="Almudévar et al. (2024), Disentanglement for non-Independent Factors, sec. 6; arXiv:2408.07016",
            cost="minutes, and torch",
            run=dependent_mnist,
            parts=mnist_parts,
            needs=MNIST,
            quick_needs=MNIST,
        ),
        Reproduction(
            name="moons",
            title="Three flows of two moons: same density, different latents",
            paper=f"{PAPER}, Fig. 1",
            cost="a quarter of an hour on a CPU, about a minute with --quick; torch and zuko",
            run=moons,
            parts=moons_parts,
        ),
        Reproduction(
            name="torus",
            title="Whether a flow finds the angles and radii of a torus",
            paper=f"{PAPER}, Fig. 2",
            cost="two minutes on a GPU, many on a CPU, about one with --quick; torch and zuko",
            run=torus,
            parts=torus_parts,
        ),
        Reproduction(
            name="digits-flows",
            title="What GLOW-like, GIN, cINN and wavelet flows make of digits",
            paper=f"{PAPER}, Figs. 4 and 5",
            cost="many minutes on a GPU, about one on a CPU with --quick; torch and zuko",
            run=digits_flows,
            parts=digits_parts,
            needs=MNIST,
        ),
        Reproduction(
            name="beta-vae-spectrum",
            title="How many latents a beta-VAE keeps, by beta",
            paper=f"{PAPER}, Fig. 6",
            cost="minutes, about one on a CPU with --quick; torch",
            run=beta_vae_spectrum,
            parts=spectrum_parts,
        ),
        Reproduction(
            name="thesis-study",
            title="1800 models: which scores agree with each other, and with downstream tasks",
            paper=THESIS,
            cost="minutes with --scale mini; a day of one GPU and more of many cores with --scale full",
            run=thesis_study,
            quick={"scale": "mini"},
            full={"scale": "full"},
            parts=thesis_parts,
        ),
        Reproduction(
            name="iwo-study",
            title="2160 models: which scores tell how well factors can be predicted from codes",
            paper="Geyer et al. (2024), Measuring Orthogonality, Tables 2, 3, 4, 5 and 7; arXiv:2407.03728",
            cost="minutes with --scale mini; a day of one GPU and more of many cores with --scale full",
            run=iwo_study,
            quick={"scale": "mini"},
            full={"scale": "full"},
            parts=iwo_study_parts,
        ),
    )
}

__all__ = [
    "DCI_ES_TABLE1",
    "IWO_TABLE1",
    "PAPER_LINES",
    "REPRODUCTIONS",
    "Check",
    "Colour",
    "CosineTables",
    "DependentMnist",
    "DigitsSettings",
    "ESTable",
    "FigureResult",
    "Line",
    "LineResult",
    "MoonsSettings",
    "PaperLine",
    "PaperRow",
    "Part",
    "Reproduction",
    "RowResult",
    "SpectrumSettings",
    "Standing",
    "Table1",
    "TorusSettings",
    "beta_vae_spectrum",
    "dci_es_table1",
    "dependent_cosine",
    "dependent_mnist",
    "digits_flows",
    "iwo_study",
    "iwo_table1",
    "moons",
    "thesis_study",
    "torus",
]
