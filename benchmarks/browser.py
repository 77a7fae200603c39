"""Chromium without a screen, as selenium drives it, and a server of files.

Debian: `apt-get install chromium chromium-driver`.
"""

import importlib.util
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

HAS_CHROMIUM = CHROMIUM is not None and DRIVER is not None and importlib.util.find_spec("selenium") is not None
"""Whether all is here that it takes."""

Browser = Any


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser that has opened an empty page."""
    from selenium import webdriver  # noqa: PLC0415 - of the extra `test`
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    assert CHROMIUM is not None
    options.binary_location = CHROMIUM
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "window-size=1400,1000"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver: Browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.get("about:blank")  # the first page waits for the browser itself
        yield driver
    finally:
        driver.quit()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are no output of a benchmark or a test."""


@contextmanager
def served(folder: Path) -> Generator[str]:
    """The address where the files of a folder are served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
