"""Tests in Chromium."""

import pytest

from benchmarks.browser import HAS_CHROMIUM

needs_chromium = pytest.mark.skipif(not HAS_CHROMIUM, reason="not installed: chromium, chromedriver or selenium")
