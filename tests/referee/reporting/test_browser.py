"""The page of a report in a real browser, Chromium without a screen: it opens quickly, and does what it should.

Debian: `apt-get install chromium chromium-driver`.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from benchmarks.browser import Browser, chromium
from qmlir.extensions.report.render import write_page
from tests.support.chromium import needs_chromium
from tests.support.report_pages import EVIL, chain

NODES = 180
"""More than ResNet-50 has."""

LOAD_SECONDS = 2.0

pytestmark = [
    pytest.mark.referee,
    needs_chromium,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(chain(NODES, channels=256), path)
    browser.get(path.as_uri())
    return browser


def rows(page: Browser) -> list[str]:
    return page.execute_script(
        "return [...document.querySelectorAll('#table tbody tr')].filter(e => !e.hidden).map(e => e.cells[0].innerText)"
    )


def order_of_rows(page: Browser) -> list[int]:
    return page.execute_script(
        "return [...document.querySelectorAll('#table tbody tr')].map(e => Number(e.dataset.node))"
    )


def test_it_opens_in_two_seconds_without_an_error(page: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(chain(NODES, channels=256), path)
    page.get_log("browser")
    start = time.perf_counter()
    page.get(path.as_uri())
    seconds = time.perf_counter() - start
    assert page.execute_script("return document.documentElement.dataset.ready") == "true"
    assert page.get_log("browser") == []
    assert seconds < LOAD_SECONDS


def test_names_are_text(page: Browser) -> None:
    assert page.execute_script("return window.broken") is None
    shown = EVIL.replace("\u2028", r"\u2028")
    assert page.find_element(By.TAG_NAME, "h1").get_attribute("textContent") == shown
    assert page.execute_script("return document.querySelectorAll('img').length") == 0
    names = page.execute_script("return [...document.querySelectorAll('#table tbody td.name')].map(e => e.textContent)")
    assert shown in names


REPAIRED = "repaired by quant-gptq\n12.0\u202fdB, then 17.5\u202fdB\nrepaired by quant-correct-bias\nits mean error"


def test_a_click_on_a_node_shows_it(page: Browser) -> None:
    node = page.find_element(By.CSS_SELECTOR, "#drawing .node[data-node='4']")
    node.click()
    panel = page.find_element(By.ID, "panel")
    assert panel.find_element(By.TAG_NAME, "h2").text == "node4"
    for text in ("zero point\n\u22123", "12.5", "conv_8x4x4_i8", "Weights by channel", "\u221262.5 to 65", REPAIRED):
        assert text in panel.text
    assert panel.find_elements(By.CSS_SELECTOR, ".plot .float")
    assert panel.find_elements(By.CSS_SELECTOR, ".plot .quantized")
    chosen = page.find_elements(By.CSS_SELECTOR, "#table tr.chosen")
    assert [each.get_attribute("data-node") for each in chosen] == ["4"]


def test_keys_reach_and_choose_nodes(page: Browser) -> None:
    node = page.find_element(By.CSS_SELECTOR, "#drawing .node[data-node='2']")
    page.execute_script("arguments[0].focus()", node)
    page.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.find_element(By.CSS_SELECTOR, "#panel h2").text == "node3"


def test_a_row_chooses_its_node(page: Browser) -> None:
    page.execute_script("document.querySelector('#table tr[data-node=\"150\"]').click()")
    assert page.find_element(By.CSS_SELECTOR, "#panel h2").text == "node150"
    box = page.find_element(By.CSS_SELECTOR, "#drawing .node.chosen")
    assert box.get_attribute("data-node") == "150"
    assert box.is_displayed()


def test_columns_sort(page: Browser) -> None:
    errors = list(range(NODES))  # the largest error of each node is larger than that of the one before
    products = errors[::-1]
    names = [0, *range(2, NODES)]  # by their numbers; the odd name may stand anywhere
    for title, expected in (("Max error", errors), ("MACs", products), ("Name", names)):
        button = next(each for each in page.find_elements(By.CSS_SELECTOR, "#table th button") if title in each.text)
        head = button.find_element(By.XPATH, "..")
        for direction, order in (("ascending", expected), ("descending", expected[::-1])):
            page.execute_script("arguments[0].click()", button)
            assert head.get_attribute("aria-sort") == direction
            assert [each for each in order_of_rows(page) if each in order] == order


def test_search_finds_nodes(page: Browser) -> None:
    search = page.find_element(By.ID, "search")
    search.send_keys("node17")
    assert sorted(rows(page)) == sorted(["node17", *(f"node17{digit}" for digit in range(10))])
    assert page.find_element(By.ID, "matches").text == "11 found"
    assert len(page.find_elements(By.CSS_SELECTOR, "#drawing .node.match")) == 11
    search.send_keys(Keys.ENTER)
    assert page.find_element(By.CSS_SELECTOR, "#panel h2").text == "node17"
    search.send_keys(Keys.ESCAPE)
    assert len(rows(page)) == NODES


def test_the_whole_graph_fits(page: Browser) -> None:
    page.find_element(By.ID, "fit").click()
    inside = page.execute_script("""
        const frame = document.getElementById("drawing").getBoundingClientRect();
        return [...document.querySelectorAll("#drawing .node .box")].every((each) => {
          const box = each.getBoundingClientRect();
          const across = box.left >= frame.left && box.right <= frame.right;
          return across && box.top >= frame.top && box.bottom <= frame.bottom;
        });""")
    assert inside


def test_light_and_dark_have_contrast(page: Browser) -> None:
    """WCAG 2.1 asks 4.5 for text (success criterion 1.4.3)."""

    def luminance(colour: str) -> float:
        parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
        return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    seen: set[str] = set()
    for _ in range(2):
        page.find_element(By.ID, "theme").click()
        for selector in ("body", ".quiet", "#panel dt", "summary .serious"):
            pair = page.execute_script(
                "const e = document.querySelector(arguments[0]); const body = getComputedStyle(document.body);"
                "return [getComputedStyle(e).color, body.backgroundColor]",
                selector,
            )
            light, dark = sorted(map(luminance, pair), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (selector, pair)
            seen.add(pair[1])
    assert len(seen) == 2


def test_it_asks_nothing_of_the_network(page: Browser) -> None:
    assert page.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") in ([], ["data:,"])
    assert [each for each in page.get_log("browser") if each["level"] == "SEVERE"] == []
