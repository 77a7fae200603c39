"""The bar: on a terminal only, with done, rate and time left, and gone at the end, whatever ended it."""

import io
import re
import subprocess
import sys

import pytest

from qmlir.interpreter.progress import bar
from qmlir.interpreter.progress_terminal import rate_text


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(terminal: Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_what_is_drawn() -> None:
    terminal = Terminal()
    with bar("profiling", 4, terminal) as advance:
        advance()
        advance(2)
    assert "profiling" in drawn(terminal)
    assert "3/4" in drawn(terminal)


def test_what_is_being_done() -> None:
    terminal = Terminal()
    with bar("compiling", None, terminal) as advance:
        assert terminal.getvalue() == ""  # nobody knows how much there is
        advance.at(6, 7, "conv_7")
    assert "6/7" in drawn(terminal)
    assert "conv_7" in drawn(terminal)


def test_the_cursor_comes_back_after_an_error() -> None:
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), bar("profiling", 4, terminal):
        raise KeyboardInterrupt
    text = terminal.getvalue()
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # shown again, after it was hidden
    assert text.endswith("\x1b[2K")  # and the line is erased


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_elsewhere(stream: io.StringIO | None) -> None:
    with bar("profiling", 4, stream) as advance:
        advance(1)
        advance.at(1, 2, "x")
    assert stream is None or stream.getvalue() == ""


def test_rich_stays_where_it_is_without_a_terminal() -> None:
    code = (
        "import io, sys; from qmlir.interpreter.progress import bar\n"
        "with bar('x', 1, io.StringIO()) as advance: advance(1)\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(("speed", "text"), [(None, ""), (12.34, "12.3/s"), (1.0, "1.0/s"), (0.25, "4.0 s each")])
def test_rates(speed: float | None, text: str) -> None:
    assert rate_text(speed) == text
