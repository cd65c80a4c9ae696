"""Published tables and figures as code: our numbers beside the published ones and the known truth."""

from typing import Any

from unbraid.reproduce import (
    dci_es,
    dependent_digits,
    gans_of_digits,
    torus_flow,
    two_moons,
    vae_spectrum,
)
from unbraid.reproduce.agreement import Agreement, Check, Colour, Part, Reproduction
from unbraid.reproduce.coloured_vae import VaeSettings
from unbraid.reproduce.cosine import CosineTables, cosine_checks, dependent_cosine
from unbraid.reproduce.dci_es import DCI_ES_TABLE1, ESTable, dci_es_checks, dci_es_table1
from unbraid.reproduce.dependent_digits import PUBLISHED_NUMBERS, DependentMnist, dependent_mnist, mnist_checks
from unbraid.reproduce.digit_flows import core, flows
from unbraid.reproduce.digit_flows.core import CoreFigure, CoreSettings, core_checks, core_latents
from unbraid.reproduce.digit_flows.flows import DigitsSettings
from unbraid.reproduce.explicitness import images
from unbraid.reproduce.explicitness.images import ImageSettings, ImageTable, dci_es_images, image_checks
from unbraid.reproduce.figures import PAPER, FigureResult
from unbraid.reproduce.flows_of_digits import DigitsFigure, digits_checks, digits_flows
from unbraid.reproduce.gans_of_digits import GanSettings, InfoGanFigure, info_gan, info_gan_checks
from unbraid.reproduce.iwo import IWO_TABLE1, PaperRow, RowResult, Table1, iwo_checks, iwo_table1
from unbraid.reproduce.iwo_tables import iwo_study
from unbraid.reproduce.labelled import dc_ign, diva, vfae
from unbraid.reproduce.result import Number, Result
from unbraid.reproduce.studies import StudyTables, study_checks
from unbraid.reproduce.subspaces import small_worlds as worlds
from unbraid.reproduce.thesis import thesis_study
from unbraid.reproduce.torus_flow import TorusFigure, TorusSettings, torus, torus_checks
from unbraid.reproduce.two_moons import MoonsFigure, MoonsSettings, moons, moons_checks
from unbraid.reproduce.vae_spectrum import SpectrumFigure, SpectrumSettings, beta_vae_spectrum, spectrum_checks

THESIS = "Bjøru (2021), The importance of disentanglement when learning representations, NTNU, chapters 5 and 6, App. E"
MNIST = "a folder with MNIST in IDX format (--data)"
REPRODUCTIONS: dict[str, Reproduction[Any]] = {
    reproduction.name: reproduction
    for reproduction in (
        Reproduction(
            name="iwo-table1",
            title="DCI-ES, IWO and IWR of synthetic codes whose subspaces are known",
            paper="Geyer et al. (2024), Measuring Orthogonality, Table 1; arXiv:2407.03728",
            cost="half an hour of one core, in pieces with --store; a few minutes with --quick; torch",
            run=iwo_table1,
            checks=iwo_checks,
            quick={"n_seeds": 1, "probes": "none"},
            examples=("--rows 1-4 --seeds 1", "--weights spread --json table1.json", "--rows 3,4 --probes boosting"),
        ),
        Reproduction(
            name="iwo-figures",
            title="Orthogonal, aligned and explicit codes in small worlds with closed forms",
            paper="Geyer et al. (2024), Measuring Orthogonality, Figs. 1, 4 and 7; arXiv:2407.03728",
            cost="a minute or two; torch",
            run=worlds.small_worlds,
            checks=worlds.small_world_checks,
            quick={"settings": worlds.QUICK},
            figure="iwo-figures.html",
            examples=("--quick", "--heads 256x256 --steps 4000 --json figures.json"),
        ),
        Reproduction(
            name="dci-es-table1",
            title="DCI-ES scores of labels, noisy labels and mixed labels, by networks and forests",
            paper="Eastwood et al. (2023), On the DCI Framework, Table 1 and Fig. 1; arXiv:2210.00364",
            cost="half an hour, for forests on 295,000 rows, in pieces with --store; half a minute with --quick",
            run=dci_es_table1,
            checks=dci_es_checks,
            quick=dci_es.QUICK,
            options={"n_samples": "rows"},
            examples=("--quick --figure curves.html", "--probes forest --codes mix --forest 5000,20000 --seeds 1"),
        ),
        Reproduction(
            name="dci-es-images",
            title="DCI-ES of VAEs, pretrained features and pixels, on sprites in place of MPI3D",
            paper="Eastwood et al. (2023), On the DCI Framework, Table 1 and Fig. 1; arXiv:2210.00364",
            cost="half an hour of one core, in pieces with --store; a few minutes with --quick; torch",
            run=dci_es_images,
            checks=image_checks,
            quick={"settings": images.QUICK, "n_seeds": 1},
            figure="dci-es-images.html",
            examples=("--quick", "--codes vae,pixels --probes forest", "--device cuda --store images"),
        ),
        Reproduction(
            name="dependent-cosine",
            title="Metrics on cosines of factors, independent and dependent",
            paper="Almudévar et al. (2024), Defining and Measuring Disentanglement for non-Independent Factors, "
            "Tables 2, 3, 4, 10 and 11; arXiv:2408.07016",
            cost="ten minutes, under one with --quick",
            run=dependent_cosine,
            checks=cosine_checks,
            quick={"n_samples": 2000, "n_seeds": 1, "n_own_seeds": 1},
            examples=("--tables 2 --samples 2000", "--scaling spread --json cosine.json"),
        ),
        Reproduction(
            name="dependent-mnist",
            title="Coloured digits: a VAE that separates dependent factors, and its scores",
            paper="Almudévar et al. (2024), Disentanglement for non-Independent Factors, sec. 6; arXiv:2408.07016",
            cost="ten minutes with a GPU, hours on a CPU, about a minute with --quick; torch",
            run=dependent_mnist,
            checks=mnist_checks,
            quick={"n_seeds": 1, "settings": dependent_digits.QUICK},
            needs=MNIST,
            quick_needs=MNIST,
            options={"figure": "picture"},
            figure="dependent-mnist.svg",
            examples=("--quick", "--data mnist --json out.json"),
        ),
        Reproduction(
            name="moons",
            title="Three flows of two moons: same density, different latents",
            paper=f"{PAPER}, Fig. 1",
            cost="half an hour on a CPU, in pieces with --store, a minute with --quick; torch and zuko",
            run=moons,
            checks=moons_checks,
            quick={"settings": two_moons.QUICK, "n_seeds": 1},
            figure="moons.html",
            examples=("--quick", "--quick --seeds 5", "--figure fig1.html --json fig1.json"),
        ),
        Reproduction(
            name="torus",
            title="Whether a flow finds the angles and radii of a torus",
            paper=f"{PAPER}, Fig. 2",
            cost="two minutes on a GPU, many on a CPU, about one with --quick; torch and zuko",
            run=torus,
            checks=torus_checks,
            quick={"settings": torus_flow.QUICK},
            figure="torus.html",
            examples=("--quick", "--device cuda --json torus.json"),
        ),
        Reproduction(
            name="digits-flows",
            title="What GLOW-like, GIN, cINN and wavelet flows make of digits",
            paper=f"{PAPER}, Figs. 4, 5 and E.2",
            cost="many minutes on a GPU, about one on a CPU with --quick; torch and zuko",
            run=digits_flows,
            checks=digits_checks,
            quick={"settings": flows.QUICK},
            needs=MNIST,
            figure="digits-flows.html",
            examples=("--quick", "--data mnist --device cuda --json flows.json"),
        ),
        Reproduction(
            name="core-latents",
            title="Flows of digits whose first latents must rebuild the picture: the knee behind them",
            paper=f"{PAPER}, Figs. 3 and E.1",
            cost="minutes on a GPU, a few on a CPU with --quick; torch and zuko",
            run=core_latents,
            checks=core_checks,
            quick={"settings": core.QUICK},
            needs=MNIST,
            figure="core-latents.html",
            examples=("--quick", "--data mnist --device cuda --json core.json"),
        ),
        Reproduction(
            name="beta-vae-spectrum",
            title="How many latents a beta-VAE keeps, by beta",
            paper=f"{PAPER}, Figs. 6 and E.7 to E.9",
            cost="minutes on a GPU, hours on a CPU, about one minute with --quick; torch",
            run=beta_vae_spectrum,
            checks=spectrum_checks,
            quick={"settings": vae_spectrum.QUICK, "n_seeds": 1},
            figure="beta-vae-spectrum.html",
            examples=("--quick", "--data mnist --device cuda"),
        ),
        Reproduction(
            name="info-gan",
            title="What the codes of InfoGANs and of plain GANs stand for",
            paper=gans_of_digits.PAPER,
            cost="minutes on a GPU, hours on a CPU, about two minutes with --quick; torch",
            run=info_gan,
            checks=info_gan_checks,
            quick={"settings": gans_of_digits.QUICK, "n_seeds": 2},
            needs=MNIST,
            figure="info-gan.html",
            examples=("--quick", "--data mnist --device cuda --json info-gan.json"),
        ),
        Reproduction(
            name="diva-rotated",
            title="DIVA on rotated digits: the digit at an unseen angle, and the labels in each block of codes",
            paper="Ilse et al. (2020), DIVA: Domain Invariant Variational Autoencoders, sec. 4.1; arXiv:1905.10427",
            cost="minutes on a GPU, hours on a CPU, a few minutes with --quick; torch",
            run=diva.diva_rotated,
            checks=diva.diva_checks,
            quick={"n_seeds": 1, "settings": diva.QUICK},
            needs=MNIST,
            examples=("--quick", "--data mnist --device cuda --json diva.json"),
        ),
        Reproduction(
            name="vfae-tradeoff",
            title="VFAE: target and sensitive group read from codes, by the weight of the discrepancy",
            paper="Louizos et al. (2016), The Variational Fair Autoencoder, sec. 3; arXiv:1511.00830",
            cost="minutes, about one with --quick; torch",
            run=vfae.vfae_tradeoff,
            checks=vfae.vfae_checks,
            quick={"n_seeds": 1, "settings": vfae.QUICK},
            examples=("--quick", "--device cuda --json vfae.json"),
        ),
        Reproduction(
            name="dc-ign-sprites",
            title="DC-IGN against a VAE of the same size: whether each factor is in its code",
            paper="Kulkarni et al. (2015), Deep Convolutional Inverse Graphics Network; arXiv:1503.03167",
            cost="minutes on a GPU, hours on a CPU, a few minutes with --quick; torch",
            run=dc_ign.dc_ign_sprites,
            checks=dc_ign.dc_ign_checks,
            quick={"n_seeds": 1, "settings": dc_ign.QUICK},
            examples=("--quick", "--device cuda --json dcign.json"),
        ),
        Reproduction(
            name="thesis-study",
            title="1800 models: which scores agree with each other, and with downstream tasks",
            paper=THESIS,
            cost="minutes with --scale mini, under half an hour of one GPU with --scale gpu, a day with --scale full",
            run=thesis_study,
            checks=study_checks,
            quick={"scale": "mini"},
            full={"scale": "full"},
            gpu={"scale": "gpu"},
            options={"data_folder": "data"},
            examples=(
                "--scale mini --store thesis --figures figures.html",
                "--scale gpu --store thesis --yes",
                "--scale full --store thesis --yes",
            ),
        ),
        Reproduction(
            name="iwo-study",
            title="2160 models: which scores correlate with the prediction of factors from codes",
            paper="Geyer et al. (2024), Measuring Orthogonality, Tables 2, 3, 4, 5 and 7; arXiv:2407.03728",
            cost="minutes with --scale mini, under half an hour of one GPU with --scale gpu, a day with --scale full",
            run=iwo_study,
            checks=study_checks,
            quick={"scale": "mini"},
            full={"scale": "full"},
            gpu={"scale": "gpu"},
            options={"data_folder": "data"},
            examples=("--scale mini", "--scale gpu --store iwo --yes", "--scale full --store iwo --engine ray --yes"),
        ),
    )
}

__all__ = [
    "DCI_ES_TABLE1",
    "IWO_TABLE1",
    "PUBLISHED_NUMBERS",
    "REPRODUCTIONS",
    "Agreement",
    "Check",
    "Colour",
    "CoreFigure",
    "CoreSettings",
    "CosineTables",
    "DependentMnist",
    "DigitsFigure",
    "DigitsSettings",
    "ESTable",
    "FigureResult",
    "GanSettings",
    "ImageSettings",
    "ImageTable",
    "InfoGanFigure",
    "MoonsFigure",
    "MoonsSettings",
    "Number",
    "PaperRow",
    "Part",
    "Reproduction",
    "Result",
    "RowResult",
    "SpectrumFigure",
    "SpectrumSettings",
    "StudyTables",
    "Table1",
    "TorusFigure",
    "TorusSettings",
    "VaeSettings",
    "beta_vae_spectrum",
    "core_latents",
    "dci_es_images",
    "dci_es_table1",
    "dependent_cosine",
    "dependent_mnist",
    "digits_flows",
    "info_gan",
    "iwo_study",
    "iwo_table1",
    "moons",
    "thesis_study",
    "torus",
]
