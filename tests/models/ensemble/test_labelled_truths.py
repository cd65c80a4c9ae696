"""What models with labels promise of their codes, on small data."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unbraid.data import DatasetRows, applicants, bundled_digits, rotated_digits, sprites_mini
from unbraid.metrics import z1
from unbraid.models import encode, encode_all, train

pytestmark = pytest.mark.slow


def predictors():
    return make_pipeline(StandardScaler(), LogisticRegression()), RandomForestClassifier(50, random_state=0)


def read(codes, labels, test_codes, test_labels):
    """Return the accuracy of labels read from codes of other rows, by a linear map and by a forest."""
    return [one.fit(codes, labels).score(test_codes, test_labels) for one in predictors()]


def three_digits(rows):
    digits = bundled_digits()
    kept = digits.take(np.flatnonzero(digits.labels < 3))
    return rotated_digits(kept.take(rows), angles=(0, 45, 90), n_per_digit=None)


def test_diva_has_the_target_in_its_block_and_the_domain_in_its_own():
    data, unseen = three_digits(np.arange(400)), three_digits(np.arange(400, 530))
    options = {"n_codes": 6, "width": 8, "batch_size": 50, "learning_rate": 2e-3, "network": "mlp"}
    model = train("diva", data, n_steps=900, beta=4.0, alpha_y=100.0, alpha_d=100.0, warm_up=200.0, **options)
    # Drawn from the posterior: means have traces of everything, far below the noise that the model gives them.
    known, new = encode(model, data, sample=True), encode(model, unseen, sample=True, seed=1)
    found = {
        (block, name): read(known.codes[:, columns], labels.numbers, new.codes[:, columns], test.numbers)
        for block, columns in model.settings.block_columns().items()
        for name, labels, test in zip(("y", "d"), known.factors, new.factors, strict=True)
    }
    assert min(found["z_y", "y"]) >= 0.9
    assert min(found["z_d", "d"]) >= 0.9
    assert max(found["z_y", "d"]) <= 1 / 3 + 0.1
    assert max(found["z_d", "y"]) <= 1 / 3 + 0.1
    chances = model.classify(unseen.observations(np.arange(len(unseen))))[0]
    assert (chances.argmax(axis=1) == unseen.factors(np.arange(len(unseen)))[:, 0]).mean() >= 0.9


def test_vfae_hides_the_group_and_keeps_the_target():
    whole = applicants()
    data, unseen = DatasetRows(whole, np.arange(3000)), DatasetRows(whole, np.arange(3000, 4000))
    options = {"n_codes": 4, "width": 8, "batch_size": 100, "learning_rate": 2e-3}
    models = train("vfae", data, seeds=0, mmd=[0.0, 1000.0], n_steps=1200, labelled=0.5, **options)
    known, new = encode_all(models, data), encode_all(models, unseen)
    majority = 1 - new[0].factors[1].numbers.mean()
    (free_y, free_s), (fair_y, fair_s) = (
        [read(a.codes, f.numbers, b.codes, g.numbers) for f, g in zip(a.factors, b.factors, strict=True)]
        for a, b in zip(known, new, strict=True)
    )
    assert max(fair_s) <= majority + 0.05
    assert min(free_s) >= majority + 0.08
    assert min(fair_y) >= min(free_y) - 0.05
    assert min(fair_y) >= 0.8


def test_dc_ign_has_each_reserved_factor_in_its_code():
    data = sprites_mini()
    options = {"n_steps": 900, "n_codes": 6, "width": 8, "batch_size": 32, "learning_rate": 2e-3}
    clamped = train("dc_ign", data, labels=["x", "y"], rest=1.0, **options)
    reps = [encode(model, data, n=2000) for model in (clamped, train("vae", data, **options))]
    ours, plain = (dict(zip(rep.factor_names, z1(rep).per_factor, strict=True)) for rep in reps)
    for number, name in enumerate(("x", "y")):
        assert ours[name] >= 0.9
        assert ours[name] > plain[name]
        values = dict(zip(reps[0].factor_names, reps[0].factors, strict=True))[name].numbers
        assert abs(np.corrcoef(reps[0].codes[:, number], values)[0, 1]) >= 0.9
