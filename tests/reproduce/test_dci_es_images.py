"""Rows of DCI-ES that need images, on sprites: what is revealed at once, what is kept, and that none counts."""

import numpy as np
import pytest

from unbraid.reproduce import Colour, ImageSettings, ImageTable, dci_es_images
from unbraid.reproduce.explicitness import images

TINY = ImageSettings(n_rows=200, n_pictures=64, width=2, n_steps=2, n_feature_steps=2, widths=(2,), n_trees=2)


@pytest.mark.parametrize(("kind", "n_columns", "n_groups"), [("pixels", 1024, 64), ("pretrained", 512, 128)])
def test_groups_share_out_all_columns(kind, n_columns, n_groups):
    groups = images._groups(kind)
    assert len(groups) == n_groups
    assert sorted(column for group in groups for column in group) == list(range(n_columns))


def test_a_patch_is_a_square_of_neighbours():
    rows, columns = np.unravel_index(images._groups("pixels")[9], (32, 32))
    assert (set(rows), set(columns)) == ({4, 5, 6, 7}, {4, 5, 6, 7})


def test_pictures_are_sprites_of_half_the_size():
    pictures = images._pictures(np.array([0, 700_000]))
    assert pictures.shape == (2, 1, 32, 32)
    whole = images.sprites().observations(np.array([0, 700_000]))
    np.testing.assert_allclose(pictures.sum(axis=(1, 2, 3)) / 255 * 4, whole.sum(axis=(1, 2, 3)), rtol=0.01)


@pytest.mark.slow
def test_rows_are_kept_and_do_not_count(tmp_path, monkeypatch):
    found = dci_es_images(codes=["vae", "pixels"], probes=["forest"], n_seeds=2, settings=TINY, store=tmp_path)
    assert [(row.codes, row.n_codes, len(row.curve.losses)) for row in found.rows] == [
        ("vae", 10, 2),
        ("pixels", 1024, 2),
    ]
    assert ImageTable.from_json(found.to_json()) == found
    assert "<svg" in found.draw(tmp_path / "curves.html").read_text(encoding="utf-8")
    parts = images.image_checks(found)
    assert [part.colour for part in parts] == [Colour.GREY, Colour.GREY]
    assert [len(part.checks) for part in parts] == [8, 1]
    monkeypatch.setattr(images, "probe_run", lambda *_, **__: pytest.fail("a kept row was probed again"))
    again = dci_es_images(codes=["vae", "pixels"], probes=["forest"], n_seeds=2, settings=TINY, store=tmp_path)
    assert again == found


def test_unknown_codes_are_refused():
    with pytest.raises(ValueError, match="codes must be one of"):
        dci_es_images(codes=["dreams"])
