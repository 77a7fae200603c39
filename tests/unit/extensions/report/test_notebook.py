"""How modules and programs show themselves, through a formatter with the interface of IPython's."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.environment import default_environment
from qmlir.text.parsing import parse_module

MODEL = Path(__file__).parents[4] / "docs" / "examples" / "digits.onnxtxt"


class Formatter:
    """What IPython's `HTMLFormatter` does with formatters by name: it looks along the classes of an object."""

    def __init__(self) -> None:
        self.known: dict[str, Callable[[Any], str]] = {}

    def for_type_by_name(self, type_module: str, type_name: str, func: Callable[[Any], str]) -> None:
        self.known[f"{type_module}.{type_name}"] = func

    def pop(self, name: str, default: None = None) -> None:
        self.known.pop(name, default)

    def __call__(self, value: Any) -> str | None:
        names = (f"{each.__module__}.{each.__name__}" for each in type(value).__mro__)
        found = next((self.known[name] for name in names if name in self.known), None)
        return None if found is None else found(value)


@pytest.fixture
def formatter() -> Formatter:
    """IPython's shell, as far as an extension sees it, with the extension loaded."""
    found = Formatter()
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": found}))
    qmlir.load_ipython_extension(shell)
    return found


def text_of(html: str) -> str:
    class Texts(HTMLParser):
        found = ""

        def handle_data(self, data: str) -> None:
            self.found += f"{data} "

    texts = Texts()
    texts.feed(html)
    return texts.found


def test_a_module_shows_its_operations(formatter: Formatter) -> None:
    model = qmlir.load(MODEL, shapes={"image": (1, 4)})
    data = {"image": np.random.default_rng(0).uniform(-1, 1, (8, 4)).astype(np.float32)}
    html = formatter(qmlir.quantize(model, data).module)
    assert html is not None
    text = text_of(html)
    for row in ("fc1 nn.fully_connected i8 1x2", "relu1 nn.relu i8 1x2", "image: 1x4 f32", "logits: 1x2 f32"):
        assert row in text


def test_names_are_escaped(formatter: Formatter) -> None:
    module = parse_module(
        default_environment().new_context(),
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {"
        '  %y = nn.relu %x : tensor<2xf32> {origin = "<script>alert(1)</script>"}'
        "  func.return %y : tensor<2xf32>}",
        "test.mlir",
    )
    html = formatter(module)
    assert html is not None
    assert "<script" not in html
    assert "<script>alert(1)</script>" in text_of(html)


def test_a_module_without_one_entry_shows_its_text(formatter: Formatter) -> None:
    module = parse_module(
        default_environment().new_context(), "func.func private @a()\nfunc.func private @b()", "test.mlir"
    )
    html = formatter(module)
    assert html is not None
    assert "func.func private @b" in text_of(html)


def test_a_program_shows_its_ports_without_the_extension() -> None:
    program = qmlir.compile(qmlir.load(MODEL, shapes={"image": (1, 4)}), isa="generic")
    assert repr(program) == "program for generic, 1 thread\ntakes image: 1x4 f32\ngives logits: 1x2 f32"
    assert program._repr_html_() == f"<pre>{program!r}</pre>"


def test_others_are_left_alone_and_all_goes_again(formatter: Formatter) -> None:
    assert formatter([1, 2]) is None
    qmlir.unload_ipython_extension(
        SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    )
    assert formatter.known == {}
