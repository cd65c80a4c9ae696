"""The page about a decoder, in Chromium: nothing fetched, nothing wrong, nothing wider than a phone."""

from pathlib import Path

import pytest
import torch

from unbraid import manifold

pytestmark = pytest.mark.browser

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    torch.manual_seed(0)
    decoder = torch.nn.Sequential(torch.nn.Linear(30, 36), torch.nn.Unflatten(1, (1, 6, 6)))
    found = manifold.analyze(
        decoder, latent_dim=30, n_samples=10, partition={"a name " * 12: range(9), "b": range(9, 30)}
    )
    pictures = manifold.draw(decoder, found)
    return found.to_html(tmp_path_factory.mktemp("page") / "page.html", pictures=pictures).as_uri()


@pytest.mark.parametrize("width", [390, 1100])
def test_page(address, width):
    from playwright.sync_api import sync_playwright

    trouble = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url) if request.url.startswith("http") else None)
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        page.locator("#spectrum .catch").first.hover()
        assert page.locator("#tip").inner_text().startswith("1: z")
        browser.close()
    assert trouble == []
