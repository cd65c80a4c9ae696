"""Take the picture of a report that README.md shows.

python docs/images/make.py    # needs Chromium and playwright, as the browser tests do
"""

import subprocess
import sys
import tempfile
from pathlib import Path

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-lcd-text",
]
TARGET = Path(__file__).resolve().parent / "report.png"
MOST_BYTES = 200_000


def main() -> None:
    """Score the embedded example and photograph the first screen of its report."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        subprocess.run(
            [sys.executable, "-m", "unbraid", "demo", "--report", str(path)], check=True, stdout=subprocess.DEVNULL
        )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(
                viewport={"width": 1000, "height": 1240}, color_scheme="light", device_scale_factor=0.8
            )
            page.goto(path.as_uri())
            page.screenshot(path=TARGET)
            browser.close()
    size = TARGET.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{TARGET} has {size:,} bytes, more than {MOST_BYTES:,}.")
    print(f"wrote {TARGET}, {size:,} bytes")


if __name__ == "__main__":
    main()
