"""The figures of the zoo as rows of `docs/results`, and the reasons behind missing ones as lines of text."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.rows import BenchRow
from benchmarks.zoo.metrics import METRICS
from benchmarks.zoo.running import FLOAT, OURS, PEERS, STATIC, Result


def _is_task(result: Result) -> bool:
    return METRICS[result.metric].measure is not None


def misses(result: Result) -> bool:
    """Return true if ours loses more than 0.5% of the float model's metric, or 0.5 dB against the static peer."""
    figures = result.scores if _is_task(result) else result.noise
    ours = figures.get(OURS)
    held = figures.get(FLOAT if _is_task(result) else STATIC)
    if ours is None or held is None:
        return False
    return ours < 0.995 * held if _is_task(result) else ours < held - 0.5


def ratio(result: Result) -> float | None:
    """Our time over that of the fastest peer in int8."""
    theirs = [result.times[name][0] for name in PEERS if name in result.times]
    return result.times[OURS][0] / min(theirs) if theirs and OURS in result.times else None


def _rows(result: Result) -> Iterator[BenchRow]:
    name, metric = result.name, METRICS[result.metric].title
    shares = {"multiply-adds in 8 bits": result.integer_share, "estimated time on integers": result.cost_share}
    for what, share in shares.items():
        if share is not None:
            yield BenchRow(what, 100 * share, None, "%", subject=name)
    scale, unit, figures = (100, "%", result.scores) if _is_task(result) else (1, "dB", result.noise)
    for who in (FLOAT, OURS, *PEERS) if _is_task(result) else (OURS, *PEERS):
        if (figure := figures.get(who)) is not None:
            what = f"{metric}, {'float' if who == FLOAT else who}"
            yield BenchRow(what, scale * figure, None, unit, subject=name)
    if OURS in result.times:
        yield BenchRow("time, qmlir", result.times[OURS][0], None, "ms", subject=name)
    if (found := ratio(result)) is not None:
        yield BenchRow("time over the fastest peer in int8", found, None, "x", subject=name)


def zoo_rows(results: Sequence[Result]) -> list[BenchRow]:
    """The rows of all models, after those of the zoo as a whole."""
    through = [each for each in results if not each.stage]
    ratios = [found for each in through if (found := ratio(each)) is not None]
    counts = {
        "models": len(results),
        "models that come through": len(through),
        "models that lose more than they may": sum(map(misses, through)),
        "models timed beside a peer": len(ratios),
        "models faster than every peer": sum(each < 1 for each in ratios),
    }
    rows = [BenchRow(what, count, None, "", subject="zoo") for what, count in counts.items()]
    if ratios:
        rows.append(BenchRow("median time over the fastest peer in int8", median(ratios), None, "x", subject="zoo"))
    return [*rows, *(row for each in results for row in _rows(each))]


def notes(results: Sequence[Result]) -> Iterator[str]:
    """Lines for the lab log: where models end, what stays in float, and why peers reject a model."""
    for each in results:
        if each.stage:
            yield f"{each.name}: {each.stage}: {each.cause}"
        if not each.stage and misses(each):
            yield f"{each.name}: loses more than it may"
        if each.exported is not None and each.exported != math.inf:
            yield f"{each.name}: the exported model differs, {each.exported:.1f} dB"
        yield from (f"{each.name}: in float: {reason}" for reason in each.in_float)
        yield from (f"{each.name}: {peer}: {cause}" for peer, cause in each.causes.items())
