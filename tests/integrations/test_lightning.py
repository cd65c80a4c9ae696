"""The callback, in Lightning's own trainer."""

import math
import warnings

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import unbraid as ub
from unbraid.integrations.lightning import ScoresCallback


class Autoencoder(pl.LightningModule):
    """Two codes that are the first two columns of the data; ``collapse`` makes them constant."""

    def __init__(self, *, collapse=False):
        super().__init__()
        self.layer = nn.Linear(3, 2, bias=False)
        self.collapse = collapse
        with torch.no_grad():
            self.layer.weight.copy_(torch.eye(2, 3))

    def encode(self, x):
        return self.layer(x) * (0.0 if self.collapse else 1.0)

    def training_step(self, batch, index):
        return self.layer(batch[0]).square().mean()

    def validation_step(self, batch, index, dataloader_idx=0):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (200, 2))
    x = np.column_stack([factors + 0.2 * rng.standard_normal((200, 2)), rng.standard_normal(200)])
    return torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(factors)


def fit(module, data, *callbacks, epochs=1, loaders=1):
    loader = DataLoader(TensorDataset(*data), batch_size=50)
    trainer = pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
    )
    with warnings.catch_warnings():
        # Lightning's advice on workers and its own deprecations are not ours to heed.
        warnings.filterwarnings("ignore", module="lightning|torch")
        warnings.filterwarnings("ignore", message=".*(num_workers|logging interval|LeafSpec|treespec).*")
        trainer.fit(module, loader, [loader] * loaders if loaders > 1 else loader)
    return trainer


def test_logs_the_scores_of_the_validation_rows(data):
    trainer = fit(Autoencoder(), data, ScoresCallback("mig,r2"))
    x, factors = (part.numpy() for part in data)
    whole = ub.evaluate(x[:, :2], factors, metrics="mig,r2", intervals=False, nulls=False)
    logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
    assert logged == pytest.approx({f"unbraid/{name}": score.value for name, score in whole.items()}, rel=1e-6)


def test_leaves_the_module_training_and_reads_batches_as_told(data):
    seen = []

    def read(module, batch):
        seen.append(module.training)
        return batch[0][:, 1:], batch[1]

    module = Autoencoder()
    trainer = fit(module, data, ScoresCallback("mig", read=read, prefix="val_"), epochs=2)
    x, factors = (part.numpy() for part in data)
    assert float(trainer.callback_metrics["val_mig"]) == pytest.approx(float(ub.metrics.mig(x[:, 1:], factors)))
    # Two batches of the sanity check are not read; four in each of two epochs are.
    assert seen == [False] * 8


def test_scores_every_so_many_epochs_one_loader_and_few_rows(data):
    rows = []

    class Counting(ScoresCallback):
        def on_validation_epoch_end(self, trainer, module):
            rows.append((len(self.scores), self.scores.n_seen))
            super().on_validation_epoch_end(trainer, module)

    fit(Autoencoder(), data, Counting("mig", every_n_epochs=2, max_rows=60), epochs=3, loaders=2)
    assert rows == [(0, 0), (60, 200), (0, 0), (60, 200)]


def test_a_collapsed_model_is_logged_as_nan_and_training_goes_on(data):
    with pytest.warns(RuntimeWarning, match="the codes could not be scored: codes must vary"):
        trainer = fit(Autoencoder(collapse=True), data, ScoresCallback("mig"))
    assert math.isnan(float(trainer.callback_metrics["unbraid/mig"]))


def test_bad_batches_and_settings_are_sentences(data):
    callback = ScoresCallback("mig")
    with pytest.raises(
        TypeError, match=r"batch must be \(observations, factors\), got Tensor; give ScoresCallback read"
    ):
        callback.read(Autoencoder(), data[0])
    with pytest.raises(ValueError, match="every_n_epochs must be at least 1, got 0"):
        ScoresCallback("mig", every_n_epochs=0)
    with pytest.raises(ValueError, match="Unknown metric"):
        ScoresCallback("nothing")
