"""The bar of a terminal, with done, rate and time left, gone at the end, whatever ended it; and lines elsewhere."""

import io
import re
import subprocess
import sys

import pytest

from qmlir.interpreter import progress
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
def test_nothing_elsewhere_while_it_is_short(stream: io.StringIO | None) -> None:
    with bar("profiling", 4, stream) as advance:
        advance(1)
        advance.at(1, 2, "x")
    assert stream is None or stream.getvalue() == ""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines as users get them: the other tests get none."""
    monkeypatch.setattr(progress, "SECONDS", 10)


@pytest.mark.usefixtures("often")
def test_a_line_every_ten_seconds_elsewhere() -> None:
    stream, times = io.StringIO(), iter([0, 4, 9.5, 12, 15, 100, 4000])
    with bar("profiling", 512, stream, clock=lambda: next(times)) as advance:
        for done in (32, 32, 32, 32, 32, 384):
            advance(done)
    assert stream.getvalue().splitlines() == [
        "profiling: 96 of 512 in 12 s, about 52 s left",  # 416 more at 8 a second, since the first step
        "profiling: 160 of 512 in 1 min 40 s, about 8 min 4 s left",  # at the rate of 64 in 88 seconds
        "profiling: 544 in 1 h 6 min",  # more than there were thought to be
    ]


@pytest.mark.usefixtures("often")
def test_a_line_that_says_what_is_done() -> None:
    stream, times = io.StringIO(), iter([0, 4000])
    with bar("searching", None, stream, clock=lambda: next(times)) as advance:
        advance.at(1, 2, "conv_7")
    assert stream.getvalue() == "searching: 1 of 2 in 1 h 6 min, about 1 h 6 min left, conv_7\n"


@pytest.mark.usefixtures("often")
def test_the_time_left_is_that_of_a_run_with_a_slow_start() -> None:
    """A first step that compiles for 30 seconds, then 16 steps a second: an hour was shown where minutes are taken."""
    now = [0.0]
    stream = io.StringIO()
    with bar("profiling", 2048, stream, clock=lambda: now[0]) as advance:
        for step in range(1024):
            now[0] += 1 / 16 if step else 30
            advance()
    for line in stream.getvalue().splitlines()[1:]:
        done, left = int(line.split()[1]), line.rpartition("about ")[2]
        seconds = sum(int(count) * {"s": 1, "min": 60}[unit] for count, unit in re.findall(r"(\d+) (s|min)", left))
        assert abs(seconds - (2048 - done) / 16) <= 1, line


@pytest.mark.usefixtures("often")
def test_no_time_left_where_the_work_is_unknown() -> None:
    stream, times = io.StringIO(), iter([0, 10])
    with bar("profiling", None, stream, clock=lambda: next(times)) as advance:
        advance(32)
    assert stream.getvalue() == "profiling: 32 in 10 s\n"


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
