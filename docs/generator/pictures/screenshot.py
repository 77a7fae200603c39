"""Pictures of the HTML report, with numbers that the page about it explains, taken by Chromium."""

import sys
from pathlib import Path

from benchmarks.browser import HAS_CHROMIUM, chromium

MARKS = ("#figures", "#drawing", "#panel h2", "#panel .plot", "#findings h2")
"""The parts of the report that have numbers, in order."""

_MARK = """
const mark = arguments[0];
document.documentElement.style.overflow = 'hidden';
document.querySelectorAll('body > .mark').forEach(each => each.remove());
mark.forEach((selector, place) => {
  const part = document.querySelector(selector);
  if (part === null) throw new Error('no ' + selector);
  const box = part.getBoundingClientRect(), badge = document.createElement('div');
  badge.className = 'mark';
  badge.textContent = place + 1;
  badge.style.cssText = 'position:absolute;width:28px;height:28px;border-radius:14px;background:#bc4c00;color:#fff;' +
    'font:600 17px/28px sans-serif;text-align:center;box-shadow:0 0 0 2px #fff;z-index:9;' +
    `left:${Math.max(box.right - 34, box.left - 34)}px;top:${box.top + window.scrollY + 6}px`;
  document.body.append(badge);
});
"""


def take(page: Path, pictures: Path) -> None:
    """Write `report-light.png` and `report-dark.png` into `pictures`; without Chromium, keep those that are there."""
    if not HAS_CHROMIUM:
        sys.stderr.write("no chromium, chromedriver or selenium: the pictures of the report stay as they are\n")
        return
    with chromium() as driver:
        driver.set_window_size(1280, 1390)
        driver.get(page.resolve().as_uri())
        for mode in ("light", "dark"):
            driver.execute_script("document.documentElement.dataset.theme = arguments[0]", mode)
            driver.execute_script(_MARK, MARKS)
            (pictures / f"report-{mode}.png").write_bytes(driver.get_screenshot_as_png())
