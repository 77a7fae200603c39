"""The site of the documentation builds without a warning, and without the network."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documents import DOCUMENTS, ROOT

IS_THERE = all(importlib.util.find_spec(name) for name in ("sphinx", "myst_parser", "furo"))


@pytest.mark.referee
@pytest.mark.skipif(not IS_THERE, reason="the site needs pip install -e '.[docs]'")
def test_site(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", ROOT / "docs", tmp_path / "site"],
        env=os.environ | nowhere, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in DOCUMENTS if path.parent != ROOT]
    assert [page for page in pages if not (tmp_path / "site" / page).exists()] == []
    assert 'class="toc-tree"' in (tmp_path / "site" / "quantization.html").read_text(encoding="utf-8")
