"""The page in headless Chromium, without network: what it does, and how it looks on a desk, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ccml.report.page.render import render_page

from tests.browser import chromium
from tests.report.page_reports import branches_and_loops, compiled_report, hostile_report, long_report
from tests.tools import needs

pytestmark = [pytest.mark.check, needs("chromium")]

@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    reports = {
        "long": [long_report(300)], "hostile": [hostile_report()], "several": [long_report(8), long_report(9)],
        "control": [compiled_report(folder, branches_and_loops())],
    }  # fmt: skip
    for name, content in reports.items():
        (folder / f"{name}.html").write_text(render_page(content, 80_000_000), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in reports}


class Opened:
    """A page that was opened without network. ``said`` is what its console said."""

    def __init__(self, browser: Any, file: Path, width: int = 1440, scheme: str = "light") -> None:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        self.page = context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def texts(self, selector: str) -> list[str]:
        return [each.strip() for each in self.page.locator(selector).all_inner_texts()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["long", "hostile", "several", "control"])
def test_it_opens_without_a_word_and_fits(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    """Nothing is asked of a network, nothing is said, nothing is wider than the screen or cut, nothing overlaps."""
    opened = Opened(browser, pages[name], width, scheme)
    assert opened.said == []
    assert opened.asked == [pages[name].as_uri()]
    assert opened.page.evaluate("document.title !== 'owned'")
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert opened.page.evaluate(_CUT) == []
    assert opened.page.evaluate(_OVERLAPPING) == []
    assert opened.page.evaluate(_FAINT) == []
    opened.page.context.close()


def test_all_sections_are_drawn_once_the_page_is_idle(browser: Any, pages: dict[str, Path]) -> None:
    """A picture of the whole page has all of it, without anybody having scrolled there."""
    page = Opened(browser, pages["long"]).page
    drawn = "each => each.checkVisibility({ contentVisibilityAuto: true })"
    all_drawn = f"[...document.querySelectorAll('article > section > h2')].every({drawn})"
    for _ in range(200):
        if page.evaluate(all_drawn):
            return
        page.wait_for_timeout(50)
    pytest.fail("sections out of sight are empty")


@pytest.mark.parametrize("width", [1440, 390])
def test_links_go_to_the_heads_of_sections(browser: Any, pages: dict[str, Path], width: int) -> None:
    """At once, and to the right place, though sections that were not seen are not laid out yet."""
    context = browser.new_context(viewport={"width": width, "height": 844}, offline=True)
    page = context.new_page()
    page.goto(pages["long"].as_uri())
    links = page.locator("nav a[href^='#']")
    assert links.count() > 4
    for number in range(links.count()):
        links.nth(number).click()
        page.wait_for_timeout(300)
        place = links.nth(number).get_attribute("href")
        top, last = page.evaluate(
            "(id) => [document.querySelector(id).getBoundingClientRect().top, "
            "scrollY + innerHeight >= document.documentElement.scrollHeight - 2]", place,
        )  # fmt: skip
        assert last or abs(top) < 2, (place, top)
    context.close()


_CUT = """() => [...document.querySelectorAll("h1, h2, p, dd, dt, td, th, li, button, figcaption")]
  .filter((each) => each.offsetParent !== null && each.scrollWidth > each.clientWidth + 1 && each.clientWidth
    && !each.closest(".scroll"))
  .map((each) => each.textContent.slice(0, 60))"""
"""Texts that are wider than their box."""

_OVERLAPPING = """() => {
  const found = [];
  for (const parent of document.querySelectorAll("header, main > *:not([hidden]), tr, .cards, .columns, .tools")) {
    const boxes = [...parent.children].filter((each) => each.offsetParent !== null)
      .map((each) => [each, each.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
    for (let i = 1; i < boxes.length; i += 1) {
      const [a, b] = [boxes[i - 1][1], boxes[i][1]];
      const apart = a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
      if (!apart) found.push(boxes[i][0].textContent.slice(0, 60));
    }
  }
  return found;
}"""
"""Neighbours that lie on each other."""

_FAINT = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (value) => (value / 255 <= 0.03928 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const seen = new Map();
  for (const each of document.querySelectorAll("h1, h2, h3, p, dd, dt, td, th, li, a, button, label, .ops, .change")) {
    if (each.offsetParent === null) continue;
    const key = getComputedStyle(each).color + behind(each);
    if (seen.has(key)) continue;
    const [a, b] = [light(rgb(getComputedStyle(each).color)), light(behind(each))];
    seen.set(key, [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.textContent.slice(0, 40)]);
  }
  return [...seen.values()].filter(([ratio]) => ratio < 4.5);
}"""
"""Texts whose contrast is below 4.5, which WCAG 2.1 asks for (AA)."""


def test_a_tensor_is_followed_through_all_its_places(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["long"])
    page = opened.page
    page.locator(".most .link[data-layer]").first.click()
    details = page.locator("#details")
    assert details.is_visible()
    assert "dsp contraction" in details.inner_text()
    details.locator("h3:has-text('writes') + ul button").click()
    assert "written by" in details.inner_text() and "read by" in details.inner_text()
    number = page.locator(".area.on").get_attribute("data-tensor")
    assert page.locator(f".line.on[data-tensor='{number}']").count() >= 1
    assert page.locator(".layers tr.touched").count() >= 2
    page.keyboard.press("Escape")
    assert details.is_hidden()
    assert page.locator(".on, .touched").count() == 0
    assert opened.said == []


def test_search_finds_layers_everywhere(browser: Any, pages: dict[str, Path]) -> None:
    page = Opened(browser, pages["long"]).page
    page.fill("#find", "block_123/")
    assert page.locator(".layers tbody tr:visible").count() == 1
    assert page.locator(".box.match").count() == 1
    page.press("#find", "Enter")
    page.wait_for_timeout(200)
    assert page.inner_text("#found") == "1 of 1 in the graph"
    assert float(page.get_attribute(".graph svg", "viewBox").split()[3]) < 2000
    box, view = page.locator(".box.match").bounding_box(), page.locator(".graph").bounding_box()
    assert view["y"] <= box["y"] and box["y"] + box["height"] <= view["y"] + view["height"]
    page.fill("#find", "no such thing")
    assert page.inner_text("#found") == "nothing found"
    page.fill("#find", "")
    assert page.locator(".layers tbody tr:visible").count() == 300


def test_tables_sort_by_their_titles(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["long"])
    head = opened.page.locator(".layers thead th", has_text="MACs")
    for order in ("descending", "ascending"):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        values = [int(text.replace(",", "")) for text in opened.texts(".layers tbody td[data-label='MACs']")]
        assert values == sorted(values, reverse=order == "descending")


def test_the_clock_makes_milliseconds(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["long"])
    opened.page.fill("#clock", "100")
    cycles = [int(text.replace(",", "")) for text in opened.texts(".layers td[data-label='cycles']")]
    shown = [float(text) for text in opened.texts(".layers td[data-label='ms']")]
    assert shown == pytest.approx([count / 100_000 for count in cycles], rel=0.006)
    opened.page.fill("#clock", "fast")
    assert opened.page.get_attribute("#clock", "aria-invalid") == "true"
    assert set(opened.texts(".layers td[data-label='ms']")) == {"-"}


def test_everything_works_by_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    page = Opened(browser, pages["control"]).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.locator(".graph svg").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.layer") == "0"
    page.keyboard.press("Enter")
    assert page.inner_text("#details-title") == "Layer 0"
    before = page.get_attribute(".graph svg", "viewBox")
    page.keyboard.press("+")
    assert page.get_attribute(".graph svg", "viewBox") != before
    page.keyboard.press("Escape")
    page.locator(".memory svg").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.inner_text("#details-title").startswith("Tensor")


def test_the_graph_is_moved_and_zoomed(browser: Any, pages: dict[str, Path]) -> None:
    page = Opened(browser, pages["long"]).page
    page.locator(".graph").scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    frame = page.locator(".graph svg").bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2

    def seen() -> list[float]:
        return [float(part) for part in page.get_attribute(".graph svg", "viewBox").split()]

    before = seen()
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 100)
    page.mouse.up()
    after = seen()
    assert after[1] > before[1]
    assert page.locator("#details").is_hidden()
    page.click("[data-zoom=in]")
    assert seen()[2] < after[2]
    page.click("[data-zoom=fit]")
    assert seen()[3] >= float(page.get_attribute(".graph svg", "height"))


def test_tabs_of_a_comparison(browser: Any, pages: dict[str, Path]) -> None:
    page = Opened(browser, pages["several"]).page
    assert page.locator("[role=tabpanel]:visible").count() == 1
    page.locator("[role=tab]").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-r0"
    assert page.locator("#r0").is_visible() and page.locator("#all").is_hidden()


def test_on_paper_all_is_there(browser: Any, pages: dict[str, Path]) -> None:
    """All reports of a comparison, no tools, the whole graph."""
    page = Opened(browser, pages["several"]).page
    page.emulate_media(media="print")
    assert page.locator("[role=tabpanel]:visible").count() == 3
    assert page.locator(".tools:visible, .zoom:visible, [role=tablist]:visible").count() == 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('details')].every((each) => each.open)")
    size = page.get_attribute("#r0 .graph svg", "viewBox").split()
    assert size[2:] == [page.get_attribute("#r0 .graph svg", side) for side in ("width", "height")]
    assert len(page.pdf(prefer_css_page_size=True)) > 10_000


def test_without_script_the_figures_are_there(browser: Any, pages: dict[str, Path]) -> None:
    page = browser.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto(pages["several"].as_uri())
    assert page.locator(".layers tbody tr:visible").count() >= 17
    assert page.locator(".tools:visible").count() == 0
