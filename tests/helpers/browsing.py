"""A browser for tests, as fixtures: import them in a ``conftest.py``."""

from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
HOW_TO_INSTALL = (
    f"The browser tests need Chromium at {CHROMIUM} and the playwright package: "
    "run `apt-get install chromium` and `pip install playwright`, or leave them out with `-m 'not browser'`."
)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail(HOW_TO_INSTALL)
    if not CHROMIUM.exists():
        pytest.fail(HOW_TO_INSTALL)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page; at the end, nothing may have gone wrong and nothing may have been fetched."""
    pages, trouble = [], []

    def open_(address, **options):
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url) if request.url.startswith("http") else None)
        page.goto(address)
        return page

    yield open_
    for page in pages:
        page.close()
    assert trouble == []
