import numpy as np
import pytest
import torch

from helpers.dots import Dots
from unbraid.models import train

SMALL = {"n_codes": 4, "width": 4, "batch_size": 16, "learning_rate": 1e-3, "n_steps": 4}
EVEN, FEW = np.arange(0, 49, 2), np.array([40, 3, 7])


def weights(ensemble):
    return list(ensemble.network.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [None, 1], ids=["side by side", "one after the other"])
def test_a_member_with_rows_of_its_own_is_the_model_trained_on_these_rows_alone(at_once, tmp_path):
    parts = {"seeds": [3, 8], "member_rows": [EVEN, FEW], "out": tmp_path, "at_once": at_once}
    both = train("vae", Dots(), **parts, **SMALL)
    for m, (seed, rows) in enumerate(((3, EVEN), (8, FEW))):
        alone = train("vae", Dots().observations(rows), seeds=seed, **SMALL)
        for one, other in zip(weights(both[m]), weights(alone), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_run_on_other_rows_is_another_run(tmp_path):
    train("vae", Dots(), member_rows=[EVEN], out=tmp_path, **SMALL)
    with pytest.raises(ValueError, match=r"Dots \w+ parts \w+ -> Dots \w+ parts \w+"):
        train("vae", Dots(), member_rows=[EVEN[1:]], out=tmp_path, **SMALL | {"n_steps": 6})


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        ("vae", [FEW, FEW, FEW], "member_rows must be 2 lists, one for each member, got 3."),
        ("vae", [FEW, []], "member_rows must have at least one row for each member, got none for 1."),
        ("vae", [FEW, [0, 49]], "member_rows must be from 0 to 48, got 0 to 49."),
        ("beta_tcvae", [FEW, FEW], "member_rows are not for beta_tcvae, whose objective or batches need the whole"),
        ("diva", [EVEN, np.arange(7)], "the target 'row' of diva must take two values or more in the rows of every"),
    ],
)
def test_rows_that_do_not_fit_are_refused(model, rows, message):
    with pytest.raises(ValueError, match=message):
        train(model, Dots(), seeds=[0, 1], member_rows=rows, **SMALL)
