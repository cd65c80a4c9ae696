"""Visits to the explorer in a browser, and pixels of its canvases."""

import time

COUNT_REQUESTS = """
    window.requestsUnderWay = 0;
    const plain = window.fetch;
    window.fetch = (...given) => {
        window.requestsUnderWay += 1;
        return plain(...given).finally(() => (window.requestsUnderWay -= 1));
    };
"""
QUIET = """async (milliseconds) => {
    const quiet = () =>
        !window.requestsUnderWay &&
        !document.querySelector("[aria-busy=true]") &&
        [...document.images].every((one) => one.complete);
    let since = performance.now();
    while (performance.now() - since < milliseconds) {
        await new Promise((next) => setTimeout(next, 20));
        if (!quiet()) since = performance.now();
    }
    for (let i = 0; i < 2; i++) await new Promise((next) => requestAnimationFrame(next));
}"""


NAMELESS = """() => [...document.querySelectorAll("button, select, input, canvas, progress, a[href], img, table")]
    .filter((one) => one.getAttribute("aria-hidden") !== "true")
    .filter((one) => !["aria-label", "alt"].some((name) => one.getAttribute(name)))
    .filter((one) => !(one.textContent.trim() || one.labels?.length))
    .map((one) => one.outerHTML)"""


class Visits:
    """Pages that were opened, and what went wrong on them."""

    def __init__(self, browser):
        self.browser, self.pages, self.trouble, self.elsewhere = browser, [], [], []

    def open(self, server, **options):
        options.setdefault("viewport", {"width": 1280, "height": 900})
        page = self.browser.new_page(**options)
        self.pages.append(page)
        page.set_default_timeout(30_000)
        page.add_init_script(COUNT_REQUESTS)
        own = f"http://127.0.0.1:{server.port}/"
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("request", lambda request: self._look(request.url, own))
        page.goto(server.address)
        return page

    def _look(self, url, own):
        if not url.startswith((own, "data:", "blob:")):
            self.elsewhere.append(url)

    def close(self):
        for page in self.pages:
            page.close()


def settled(page, milliseconds=300):
    """The page once it has asked for nothing for a while, and says of no part that it is busy."""
    page.evaluate(QUIET, milliseconds)
    return page


def pixels(page, selector, which=0):
    """A number that changes with the pixels of a canvas."""
    return page.eval_on_selector_all(
        selector,
        """(found, which) => {
            const canvas = found[which];
            const { width, height } = canvas;
            const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const data = copy.getImageData(0, 0, width, height).data;
            let sum = 0;
            for (let i = 0; i < data.length; i++) sum = (sum * 31 + data[i]) % 1000000007;
            return sum;
        }""",
        which,
    )


def nameless(page):
    """What can be reached or seen on a page, and has no name for a screen reader."""
    return page.evaluate(NAMELESS)


def wait_for_measure(page, name, count):
    """Wait until the page has taken so many measures of one name."""
    page.evaluate(
        """async ([name, count]) => {
            while (performance.getEntriesByName(name).length < count) await new Promise((next) => setTimeout(next, 10));
        }""",
        [name, count],
    )


def slowdown():
    """How much longer work takes now than its processor time, as others have the cores: 1 on an idle machine."""
    wall, processor = time.perf_counter(), time.process_time()
    while time.process_time() - processor < 0.1:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - processor))


def durations(page, name):
    """The measures of one name that the page took, in milliseconds."""
    return page.evaluate("name => performance.getEntriesByName(name).map((one) => one.duration)", name)
