import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from helpers.dots import Dots
from unbraid.models import load_models, train
from unbraid.models.ensemble import Settings
from unbraid.models.ensemble import memory as _groups
from unbraid.models.ensemble import memory as _memory
from unbraid.models.ensemble.memory import member_bytes, n_that_fit

SMALL = {"n_codes": 4, "width": 4, "batch_size": 16, "learning_rate": 1e-3}
VECTORS = Settings(
    model="vae", data="", n_rows=9, shape=(50,), seeds=(0,), network="mlp", likelihood="gaussian", n_codes=3, width=2
)
MEASURE = """
import sys
import numpy as np
from unbraid.models.ensemble import EnsembleEngine, Settings, BatchSource
from unbraid.models.ensemble.memory import member_bytes

def engine(model, n_models, width):
    hyperparameters = (("gamma", (1.0,) * n_models),) if model == "factor_vae" else ()
    settings = Settings(model=model, data="", n_rows=9, shape=(1, 64, 64), seeds=tuple(range(n_models)),
                        hyperparameters=hyperparameters, width=width, discriminator_width=300)
    return EnsembleEngine(settings, BatchSource(np.zeros((9, 1, 64, 64), np.uint8))), settings

def peak():
    # Of this program alone; getrusage goes on from what the process that started it had.
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

first, settings = engine(sys.argv[1], 1, 1)
first.advance(), member_bytes(settings)
before = peak()
second, settings = engine(sys.argv[1], 4, 16)
second.advance(), second.advance()
print((peak() - before) / (4 * member_bytes(settings)))
"""


@pytest.mark.slow
def test_what_is_reckoned_is_what_training_takes():
    run = subprocess.run([sys.executable, "-c", MEASURE, "factor_vae"], capture_output=True, text=True, check=True)
    assert 0.7 < float(run.stdout) < 2


#: Encoder and decoder of VECTORS: 50 numbers, two hidden layers of 16, 3 codes with two numbers each.
N_WEIGHTS = (51 * 16 + 17 * 16 + 17 * 6) + (4 * 16 + 17 * 16 + 17 * 50)


def bytes_of_batch(batch_size):
    return member_bytes(replace(VECTORS, batch_size=batch_size))


def test_weights_gradients_and_moments_are_counted():
    assert 4 * 4 * N_WEIGHTS <= bytes_of_batch(1) < 1.5 * 4 * 4 * N_WEIGHTS


def test_grows_with_the_batch_by_what_a_step_keeps():
    # Of each row at least the data, what goes into each layer, and what comes out last.
    kept = 4 * (50 + 16 + 16 + 3 + 16 + 16 + 50)
    for_a_row = (bytes_of_batch(4000) - bytes_of_batch(2000)) / 2000
    assert 1 < for_a_row / kept < 4
    # While these are alive, so are the weights and both moments of the step before.
    assert bytes_of_batch(2000) - 2000 * for_a_row >= 3 * 4 * N_WEIGHTS


def test_as_many_groups_as_fit(monkeypatch):
    settings = train("vae", Dots(), seeds=range(5), n_steps=1, **SMALL).settings
    one = member_bytes(settings)
    for n_fit, sizes in ((5, [5]), (4, [3, 2]), (2, [2, 2, 1]), (1, [1] * 5)):
        monkeypatch.setattr(_memory, "free_bytes", lambda device, n=n_fit: int((n + 0.5) * one / _memory.SHARE["cpu"]))
        assert n_that_fit(settings, device="cpu") == n_fit
        layout = _groups.planned_layout(settings, None, device="cpu")
        assert [len(group) for group in layout.groups] == sizes
        assert [m for group in layout.groups for m in group] == list(range(5))


@pytest.mark.slow
def test_a_member_is_the_same_in_any_group():
    options = {"seeds": [3, 1, 2], "beta": [1.0, 2.0, 4.0], "n_steps": 60, **SMALL}
    together = train("beta_vae", Dots(), **options)
    apart = train("beta_vae", Dots(), at_once=2, **options)
    assert apart.settings == together.settings
    torch.testing.assert_close(apart.history, together.history, rtol=1e-4, atol=1e-3)
    for one, other in zip(apart.network.parameters(), together.network.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_groups_go_on_bit_for_bit_however_much_memory_there_is(tmp_path, monkeypatch):
    options = {"seeds": [3, 1, 2], "out": tmp_path, **SMALL}
    whole = train("vae", Dots(), seeds=[3, 1, 2], n_steps=12, at_once=2, **SMALL)

    def stop(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        advance = _loop_advance(patch, stop)
        with pytest.raises(KeyboardInterrupt):
            train("vae", Dots(), n_steps=7, at_once=2, **options)
        assert advance.n_calls == 2
    with pytest.raises(ValueError, match="has not come to members 2 to 2 yet; train with the same settings to go on"):
        load_models(tmp_path)
    resumed = train("vae", Dots(), n_steps=12, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["group_0", "group_1", "groups.json"]
    for found in (resumed, load_models(tmp_path)):
        assert found.settings.seeds == (3, 1, 2)
        assert all(
            torch.equal(a, b) for a, b in zip(whole.network.parameters(), found.network.parameters(), strict=True)
        )
    with pytest.raises(ValueError, match=r"other settings \(seeds \(3, 1, 2\) -> \(3, 1\)\)"):
        train("vae", Dots(), n_steps=12, **options | {"seeds": [3, 1]})
    (tmp_path / "groups.json").write_text("{}")
    with pytest.raises(ValueError, match=r"groups\.json' is damaged; delete the folder and train again"):
        load_models(tmp_path)


def _loop_advance(patch, stop):
    """Let the second group fail where the first was trained."""
    from unbraid.models.ensemble import loop as _loop

    advance = _loop._advance

    def counted(*given):
        counted.n_calls += 1
        return advance(*given) if counted.n_calls == 1 else stop()

    counted.n_calls = 0
    patch.setattr(_loop, "_advance", counted)
    return counted


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_refused_with_one_that_does(monkeypatch, tmp_path):
    asked = {"n_steps": 1, **SMALL, "batch_size": 64}
    settings = train("vae", Dots(), **asked).settings
    smaller = member_bytes(Settings(**{n: getattr(settings, n) for n in settings.__slots__} | {"batch_size": 16}))
    monkeypatch.setattr(_memory, "free_bytes", lambda device: smaller / _memory.SHARE["cpu"] + 1)
    message = r"a model with batches of 64 and width 4 takes \d+ MiB to train, and \d+ MiB may be taken on 'cpu'; "
    with pytest.raises(ValueError, match=message + "try batch_size=16"):
        train("vae", Dots(), out=tmp_path / "new", **asked)
    assert not list(tmp_path.glob("new/*"))
    monkeypatch.setattr(_memory, "free_bytes", lambda device: 0)
    with pytest.raises(ValueError, match="free some, or give another device"):
        train("vae", Dots(), **asked)


def test_bad_at_once():
    with pytest.raises(ValueError, match="at_once must be at least 1, got 0"):
        train("vae", Dots(), n_steps=1, at_once=0, **SMALL)
