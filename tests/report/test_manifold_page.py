"""The page about a decoder."""

import base64
import json
import re
import struct
import zlib

import numpy as np
import pytest
import torch

from helpers.decoders import linear, network
from unbraid import manifold
from unbraid._base.images import png_address, shrink, to_pixels, to_signed_pixels
from unbraid.report import render_manifold_classes, render_manifold_comparison, render_manifold_page
from unbraid.report.charts import TOP
from unbraid.report.manifold import SPECTRUM, make_spectrum


def decode_png(address):
    """Read our own kind of PNG: one compressed part, no filters."""
    body = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert body[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, _, colour = struct.unpack(">IIBB", body[16:26])
    size = struct.unpack(">I", body[33:37])[0]
    channels = {0: 1, 2: 3}[colour]
    lines = np.frombuffer(zlib.decompress(body[41 : 41 + size]), np.uint8).reshape(height, 1 + width * channels)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 3])
def test_png_holds_the_pixels(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 7, channels), dtype=np.uint8)
    np.testing.assert_array_equal(decode_png(png_address(pixels)), pixels)


def test_pixels():
    image = np.array([[[-1.0], [0.0], [2.0]]])
    assert to_pixels(image, -1, 1)[0, :, 0].tolist() == [0, 128, 255]
    below, middle, above = to_signed_pixels(image)[0].tolist()
    assert middle == [255, 255, 255]
    assert above == [179, 73, 0]
    assert below[2] > below[0]
    assert to_signed_pixels(np.zeros((1, 1, 1)))[0, 0].tolist() == [255, 255, 255]
    assert shrink(np.arange(16.0).reshape(4, 4, 1), 2)[:, :, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]


def found(**options):
    decoder = network(data_dim=12)
    dead = lambda z: decoder(z[:, :4]).reshape(-1, 3, 4)  # noqa: E731
    analysis = manifold.analyze(dead, latent_dim=5, n_samples=20, dtype="float64", **options)
    return dead, analysis


def test_page_shows_numbers_notes_and_pictures(tmp_path):
    decoder, analysis = found(partition={"<b>core</b>": [0, 1], "rest": [2, 3, 4]})
    pictures = manifold.draw(decoder, analysis, dtype="float64")
    page = analysis.to_html(tmp_path / "page.html", pictures=pictures).read_text(encoding="utf-8")
    assert "4 of 5 latents move the data" in page
    assert f"{analysis.latent_entropy[analysis.order[0]]:.3f} ±" in page
    assert "nowhere: z4." in page
    assert "&lt;b&gt;core&lt;/b&gt;" in page
    assert "<b>core</b>" not in page
    images = re.findall(r'src="(data:image/png[^"]+)" alt="Mean Jacobian of (z\d)"', page)
    assert [name for _, name in images] == [f"z{i}" for i in pictures.latents]
    assert decode_png(images[0][0]).shape == (3, 4, 3)
    strips = re.findall(r'src="(data:image/png[^"]+)" alt="Images along', page)
    assert decode_png(strips[0]).shape == (3, 4 * 5, 1)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["total_entropy"]["value"] == analysis.total_entropy
    assert "http-equiv" in page
    assert not re.search(r'(src|href)="(?!data:|#|https://arxiv\.org)', page)


def test_page_without_pictures_has_no_empty_sections():
    _, analysis = found()
    page = render_manifold_page(analysis)
    assert 'id="pictures"' not in page
    assert 'id="contours"' not in page
    assert 'id="sets"' not in page


def test_page_of_one_latent():
    page = render_manifold_page(manifold.analyze(linear([[2.0], [1.0]]), latent_dim=1, n_samples=3, dtype="float64"))
    assert "1 of 1 latent move" in page
    assert 'id="pairs"' not in page


def test_contours_are_drawn_for_the_plane():
    decoder = linear([[2.0, 1.0], [0.0, 1.0]])
    analysis = manifold.analyze(decoder, latent_dim=2, n_samples=3, dtype="float64")
    page = render_manifold_page(analysis, manifold.draw(decoder, analysis, dtype="float64"))
    assert len(re.findall("<polyline", page)) == 26


def test_many_latents_stay_small():
    torch.manual_seed(0)
    decoder = torch.nn.Linear(300, 320)
    analysis = manifold.analyze(decoder, latent_dim=300, n_samples=3)
    page = render_manifold_page(analysis)
    assert len(page) < 400_000
    assert decode_png(re.search(r'src="(data:image/png[^"]+)" alt="Mutual', page)[1]).shape == (300, 300, 3)
    assert "The first 100 of 300." in page


def test_spectrum_places_entropies():
    analysis = manifold.analyze(
        linear(np.diag([1.0, np.exp(4), np.exp(2)])), latent_dim=3, n_samples=3, dtype="float64"
    )
    spectrum = make_spectrum(analysis)
    by_rank, numbered = spectrum.layers
    points = [tuple(map(float, pair.split())) for pair in re.findall(r"[ML]([\d.]+ [\d.]+)", by_rank.path)]
    assert [x for x, _ in points] == pytest.approx([100 / 6, 50, 500 / 6], abs=0.1)
    heights = [y for _, y in points]
    assert heights[0] < heights[1] < heights[2]
    assert heights[1] == pytest.approx((TOP + SPECTRUM) / 2, abs=0.1)
    in_order = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", numbered.path)]
    assert in_order == [heights[2], heights[0], heights[1]]
    assert [tick.text for tick in spectrum.y_ticks] == ["2", "3", "4", "5"]
    assert [tick.text for tick in spectrum.x_ticks] == ["1 (z0)", "3 (z2)"]
    assert spectrum.columns[0].tip.startswith("1: z1, 5.419")


def test_a_dead_latent_breaks_the_line_in_order():
    _, analysis = found()
    by_rank, numbered = make_spectrum(analysis).layers
    assert by_rank.path.count("L") == 3
    assert "nan" not in numbered.path + by_rank.band
    assert "inf" not in numbered.path + by_rank.band


def test_comparison_page():
    decoder = network()
    comparison = manifold.compare(
        decoder, decoder, latent_dim=4, n_samples=10, encoder=lambda x: x[:, :4], at="latents"
    )
    page = render_manifold_comparison(comparison)
    assert "Cross mutual information" in page
    assert "Pearson correlation" in page
    assert "at the same latents" in page


def test_page_of_classes():
    decoders = {"one": linear(np.diag([1.0, 2.0])), "<two>": linear(np.diag([3.0, 0.5]))}
    analysis = manifold.analyze_classes(decoders, latent_dim=2, n_samples=4, dtype="float64")
    page = render_manifold_classes(analysis)
    assert "&lt;two&gt;" in page
    assert "<two>" not in page
    means = [f"{value:.3f}" for value in analysis.latent_entropy]
    assert all(mean in page for mean in means)
    assert page.index(f"<td>{max(means)}</td>") < page.index(f"<td>{min(means)}</td>")
    assert "Pictures" not in page
