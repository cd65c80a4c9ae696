"""Two small chaos runs; the rest is for ``make chaos``."""

import random

import pandas as pd
import pytest

from fuzz import chaos

pytestmark = pytest.mark.slow


def test_a_disturbed_study_comes_to_the_same_table(tmp_path):
    studies = chaos.make_studies(tmp_path)
    whole = chaos.undisturbed(studies["given"], tmp_path / "whole")
    scene = chaos.Scene(folder=tmp_path / "run", study=studies["given"], rng=random.Random(0))
    scene.folder.mkdir()
    chaos.kill_driver(scene)
    chaos.damage(scene)
    chaos.settle(scene, whole)
    assert any("killed the driver" in word for word in scene.done)


def test_a_table_with_another_digit_is_noticed(tmp_path):
    studies = chaos.make_studies(tmp_path)
    whole = chaos.undisturbed(studies["given"], tmp_path / "run" / "store")
    scene = chaos.Scene(folder=tmp_path / "run", study=studies["given"], rng=random.Random(0))
    chaos.compare_tables(scene, whole)
    other = whole.assign(value=whole["value"].where(whole.index > 0, whole["value"] * (1 + 1e-15)))
    with pytest.raises(chaos.ChaosError, match="the table is another"):
        chaos.compare_tables(scene, other)
    with pytest.raises(chaos.ChaosError, match="the table is another"):
        chaos.compare_tables(scene, pd.concat([whole, whole.head(1)], ignore_index=True))
