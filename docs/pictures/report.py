"""Take the picture of the report in *Getting started*: ``python docs/pictures/report.py``."""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
WIDTH, HEIGHT = 1000, 1160


def main() -> None:
    """Score the embedded example and photograph the top of its report."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        subprocess.run([sys.executable, "-m", "unbraid", "demo", "--report", page], check=True)
        photograph(page, Path(__file__).with_name("report.png"))


def photograph(page: Path, picture: Path) -> None:
    """Write what a browser shows of the top of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        view.goto(page.as_uri())
        view.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
