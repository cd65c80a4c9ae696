"""Take the pictures of the explorer that docs/seeing.md and README.md show, from the embedded example.

python docs/images/explore.py    # needs torch, Chromium and playwright, as the browser tests do
"""

import base64
import runpy
import sys
from pathlib import Path

from make import ARGUMENTS, CHROMIUM

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tests"))
from helpers.exploring import COUNT_REQUESTS, settled  # noqa: E402  the waits of the browser tests

EXAMPLES = FOLDER.parents[1] / "examples"
#: What the explorer scores in the background; here it is scored first, so that every picture has its findings.
METRICS = "mig,sap,dci_linear,dci_forest,iwo,explicitness"
KINDS = ("own code", "circle", "rotated", "empty code", "dead code")
OTHER_KINDS = ("folded", "copied")
MOST_BYTES = 120_000
AS_WEBP = """async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
    return new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.readAsDataURL(blob);
    });
}"""


class Camera:
    """Takes pictures of pages, and keeps them as WebP."""

    def __init__(self, browser):
        self.browser = browser
        self.darkroom = browser.new_page()

    def visit(self, server, **options):
        """Open the explorer and wait until all of it is there."""
        page = self.browser.new_page(**options)
        page.set_default_timeout(120_000)
        page.add_init_script(COUNT_REQUESTS)
        page.goto(server.address)
        page.wait_for_selector(".finding[aria-current]")
        page.wait_for_selector(".histogram canvas")
        return settled(page)

    def take(self, name, shot):
        """Keep a picture; a large one is refused."""
        address = "data:image/png;base64," + base64.b64encode(shot).decode()
        content = base64.b64decode(self.darkroom.evaluate(AS_WEBP, address).partition(",")[2])
        if len(content) > MOST_BYTES:
            raise SystemExit(f"{name} has {len(content):,} bytes, more than {MOST_BYTES:,}.")
        (FOLDER / name).write_bytes(content)
        print(f"wrote {FOLDER / name}, {len(content):,} bytes")


def main():
    """Photograph every view."""
    from playwright.sync_api import sync_playwright

    import unbraid

    decoder = runpy.run_path(str(EXAMPLES / "explore_shapes.py"))["decoder"]
    rep, faulty = unbraid.data.example(), runpy.run_path(str(EXAMPLES / "explore_faults.py"))["faults"]()
    report = unbraid.evaluate(rep, metrics=METRICS, name="the example")
    other = unbraid.evaluate(faulty, metrics=METRICS, name="faults")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        camera = Camera(browser)
        with unbraid.explore(rep, report, decoder=decoder) as server:
            _photograph(camera, server, report, _large_heart(rep))
        with unbraid.explore(faulty, other) as server:
            page = camera.visit(server, viewport={"width": 1360, "height": 860}, color_scheme="light")
            _findings(camera, page, other, OTHER_KINDS)
        browser.close()


def _large_heart(rep):
    """Return a row to decode: a large heart near the middle."""
    shape, size, _, x, y = rep.factors
    hearts = shape.numbers == shape.levels.index("heart")
    near = (abs(x.numbers) < 0.15) & (abs(y.numbers) < 0.15)
    return int((hearts & near & (size.numbers >= 4)).argmax())


def _photograph(camera, server, report, row):
    page = camera.visit(server, viewport={"width": 1360, "height": 860}, color_scheme="light")
    _brush(page)
    camera.take("explore.webp", page.screenshot())
    page.get_by_role("button", name="Clear selection").click()
    _findings(camera, page, report, KINDS)
    page.get_by_role("button", name="Decoder", exact=True).click()
    page.wait_for_selector(".slider.factor")
    page.get_by_label("Row to start from").fill(str(row))
    page.get_by_role("button", name="Reset to row").click()
    settled(page)
    camera.take("explore_decoder.webp", page.screenshot())
    page.close()
    phone = camera.visit(server, viewport={"width": 390, "height": 800}, color_scheme="dark", device_scale_factor=1)
    camera.take("explore_phone.webp", phone.screenshot())


def _findings(camera, page, report, kinds):
    for kind in kinds:
        at = [str(finding.kind) for finding in report.findings].index(kind)
        page.locator(".finding").nth(at).click()
        settled(page)
        camera.take(f"explore_{kind.partition(' ')[0]}.webp", page.locator(".stage").screenshot())


def _brush(page):
    box = page.locator(".stage .scatter").bounding_box()
    page.mouse.move(box["x"] + 0.36 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.62 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.42 * box["height"])
    settled(page)


if __name__ == "__main__":
    main()
