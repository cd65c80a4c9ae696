"""The decoder in headless Chromium: sliders, sheets and exports."""

import logging
from pathlib import Path

import pytest

from helpers.blobs import write_blobs
from helpers.exploring import durations, nameless, pixels, settled, slowdown, wait_for_measure

pytestmark = [pytest.mark.browser, pytest.mark.slow]
log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def server(serve, tmp_path_factory):
    model, codes = write_blobs(tmp_path_factory.mktemp("blobs"))
    return serve(codes, decoder=f"{model}:decoder")


@pytest.fixture
def page(explore, server):
    page = explore(server)
    page.get_by_role("button", name="Decoder", exact=True).click()
    page.wait_for_selector(".slider.factor")
    return settled(page)


@pytest.mark.parametrize("kind", ["factor", "code"])
def test_a_slider_changes_pixels_within_a_tenth_of_a_second(page, kind):
    before = pixels(page, ".large")
    page.locator(f".slider.{kind} input").first.focus()
    for _ in range(12):
        n_drawn = len(durations(page, "unbraid:decode"))
        page.keyboard.press("ArrowRight")
        wait_for_measure(page, "unbraid:decode", n_drawn + 1)
    assert pixels(page, ".large") != before
    took, slower = sorted(durations(page, "unbraid:decode")), slowdown()
    log.warning("decoder: picture after %s ms; slowed down by %.1f", [round(one) for one in took], slower)
    assert took[len(took) // 4] < 100 * slower  # the slower ones are those that other programs slow down


def test_moving_a_factor_moves_the_sliders_of_its_codes(page):
    before = page.locator(".slider.code output").all_inner_texts()
    page.locator(".slider.factor input").first.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    settled(page)
    after = page.locator(".slider.code output").all_inner_texts()
    assert before[0] != after[0]
    assert before[3] == after[3]  # noise


def test_reset_goes_back_and_a_row_can_be_the_start(page):
    before = pixels(page, ".large")
    page.get_by_label("Row to start from").fill("17")
    page.get_by_role("button", name="Reset to row").click()
    settled(page)
    assert pixels(page, ".large") != before
    page.get_by_role("button", name="Reset", exact=True).click()
    settled(page)
    assert pixels(page, ".large") == before


@pytest.mark.parametrize(("sheet", "kind"), [("Traversals", "gif"), ("Interpolation", "gif"), ("Swap codes", "png")])
def test_sheets_are_drawn_and_saved(page, sheet, kind):
    page.get_by_role("button", name=sheet, exact=True).click()
    settled(page)
    assert nameless(page) == []
    if sheet == "Swap codes":
        before = pixels(page, ".sheet canvas")
        page.get_by_role("checkbox", name="code_0").check()
        settled(page)
        assert pixels(page, ".sheet canvas") != before
    with page.expect_download() as download:
        page.locator(".sheet").get_by_role("button", name=f"Save as {kind.upper()}").click()
    start = {"gif": b"GIF89a", "png": b"\x89PNG"}[kind]
    assert Path(download.value.path()).read_bytes().startswith(start)
    assert download.value.suggested_filename.endswith(f".{kind}")


def test_a_row_of_the_scatter_is_decoded(page):
    page.get_by_role("button", name="Codes and factors").click()
    page.wait_for_selector(".histogram canvas")
    page.locator(".stage .scatter canvas[tabindex]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".row img.picture")
    page.get_by_role("button", name="Decode from this row").click()
    page.wait_for_selector(".strip-row canvas")
    assert page.get_by_label("Row to start from").input_value() != ""


def test_a_block_is_exchanged_between_two_rows(explore, serve, tmp_path):
    model, codes = write_blobs(tmp_path)
    page = explore(serve(codes, decoder=f"{model}:decoder", blocks="place=0-1,rest=2-3"))
    page.get_by_role("button", name="Decoder", exact=True).click()
    page.get_by_role("button", name="Swap blocks", exact=True).click()
    settled(page)
    before = pixels(page, ".sheet canvas")
    page.get_by_role("checkbox", name="place").check()
    settled(page)
    moved = pixels(page, ".sheet canvas")
    page.get_by_role("button", name="Swap codes", exact=True).click()
    settled(page)
    assert pixels(page, ".sheet canvas") == before
    for name in ("code_0", "code_1"):
        page.get_by_role("checkbox", name=name).check()
        settled(page)
    assert pixels(page, ".sheet canvas") == moved != before


def test_a_page_without_blocks_has_none_to_exchange(page):
    assert page.get_by_role("button", name="Swap blocks").count() == 0
