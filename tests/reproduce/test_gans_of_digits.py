import math
from dataclasses import replace

import numpy as np
import pytest

from unbraid.reproduce import Colour, GanSettings, InfoGanFigure, Number, info_gan
from unbraid.reproduce.gans_of_digits import GanNumbers, info_gan_checks, matched_classes

pytestmark = pytest.mark.slow

ENTROPY = math.log(10)


def test_values_are_matched_one_to_one_with_the_most_digits():
    labels = np.repeat(np.arange(10), 20)
    values = (labels + 3) % 10
    values[:5] = 7  # a few are mistaken
    matched = matched_classes(values, labels)
    np.testing.assert_array_equal(matched[np.arange(10)], (np.arange(10) - 3) % 10)
    assert (matched[values] == labels).mean() == 195 / 200
    assert len(set(matched_classes(np.zeros(200, dtype=int), labels))) == 10  # one value takes one class only


@pytest.fixture(scope="module")
def small():
    settings = GanSettings(noise_dim=2, network="mlp", width=2, n_steps=60, batch_size=8, n_continuous=1)
    return info_gan(settings=settings, n_seeds=2, progress=False)


def test_a_small_run_has_all_numbers_and_reads_back(small, tmp_path):
    ours, plain = small.models
    assert [ours.name, plain.name] == ["InfoGAN", "GAN"]
    for one in small.models:
        assert len(one.information.seeds) == len(one.accuracy.seeds) == 2
        assert one.information.ours <= ENTROPY
        assert 0 < one.accuracy.ours < 1
        assert len(one.curve) == 2
    assert ours.information.seeds != plain.information.seeds
    assert InfoGanFigure.from_json(small.to_json()) == small
    assert "<svg" in small.draw(tmp_path / "page.html").read_text(encoding="utf-8")
    header, rows = small.tables()[0].text
    assert len(rows) == 2
    assert "paper" not in header  # 1797 digits are not MNIST


def result(small, *, kept, hidden, accuracy, n_digits=10_000):
    def numbers(name, information, right):
        return GanNumbers(
            name=name,
            information=Number(ours=information),
            continuous_information=Number(ours=0.0),
            accuracy=Number(ours=right, paper=0.95),
            curve=(0.0, information),
        )

    return replace(
        small, n_digits=n_digits, models=(numbers("InfoGAN", kept, accuracy), numbers("GAN", hidden, accuracy))
    )


def test_rules_follow_the_numbers(small):
    information, digits = info_gan_checks(result(small, kept=0.95 * ENTROPY, hidden=0.1, accuracy=0.93))
    assert information.colour is Colour.GREEN
    assert digits.colour is Colour.GREEN
    information, digits = info_gan_checks(result(small, kept=0.85 * ENTROPY, hidden=0.6 * ENTROPY, accuracy=0.5))
    assert information.colour is Colour.RED
    assert digits.colour is Colour.RED
    assert len(info_gan_checks(result(small, kept=2.2, hidden=0.0, accuracy=0.9, n_digits=1797))) == 1
