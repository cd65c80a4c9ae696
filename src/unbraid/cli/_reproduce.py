"""``unbraid reproduce``."""

from cyclopts import App

from unbraid.cli._reproduce_all import run_everything
from unbraid.cli._reproduce_cosine import run_dependent_cosine
from unbraid.cli._reproduce_dci_es import run_dci_es_table1
from unbraid.cli._reproduce_dependent_mnist import run_dependent_mnist
from unbraid.cli._reproduce_iwo import run_iwo_table1
from unbraid.cli._reproduce_manifolds import run_beta_vae_spectrum, run_digits_flows, run_moons, run_torus
from unbraid.cli._reproduce_studies import run_iwo_study, run_thesis_study
from unbraid.cli._table import print_rows
from unbraid.reproduce import REPRODUCTIONS

reproduce = App(
    name="reproduce",
    help=(
        "Run a published table again: ours beside the paper's beside the truth.\n\n"
        "`unbraid reproduce --list` says what there is and what it costs; `unbraid reproduce NAME --help` how to run "
        "part of it; `unbraid reproduce --all` runs everything and says which tables and figures agree."
    ),
    help_format="markdown",
    version_flags=(),
)


def show_list() -> None:
    """List what can be reproduced, where it was published and what it costs."""
    rows = [[item.name, item.title, item.paper, item.cost] for item in REPRODUCTIONS.values()]
    print_rows(["name", "title", "paper", "cost"], rows, wrap=("title", "paper", "cost"))


reproduce.command(show_list, name="--list")
reproduce.command(run_everything, name="--all")
reproduce.command(run_iwo_table1, name="iwo-table1")
reproduce.command(run_dci_es_table1, name="dci-es-table1")
reproduce.command(run_dependent_mnist, name="dependent-mnist")
reproduce.command(run_dependent_cosine, name="dependent-cosine")
reproduce.command(run_moons, name="moons")
reproduce.command(run_torus, name="torus")
reproduce.command(run_digits_flows, name="digits-flows")
reproduce.command(run_beta_vae_spectrum, name="beta-vae-spectrum")
reproduce.command(run_thesis_study, name="thesis-study")
reproduce.command(run_iwo_study, name="iwo-study")
