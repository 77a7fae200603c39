"""`make compare BASE=COMMIT`: what the working tree does better or worse than a commit.

Both quantize, compile and run the same models in turns, each in processes of its own. All that is timed is measured for
the commit twice: a row is worse only beyond the spread of the commit against itself, and beyond 2%. Accuracy is worse
if it falls by more than 0.1 dB, or by more than one sample. The command ends with the rows that got worse.
With `--code`, both write code for the same quantized modules and three instruction sets, and any difference is worse:
for changes that only move files.
"""

import argparse
import io
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeAlias, cast

import numpy as np

from benchmarks.architectures import random_inputs
from benchmarks.models import BENCH_MODELS
from qmlir.targets.cpu.cache import DIRECTORY_VARIABLE

ROOT = Path(__file__).parents[1]
DIGITS = ROOT / "docs" / "examples"

MARGIN, DECIBELS, SAMPLES = 1.02, 0.1, 1
"""What a row may lose: of times and memory as a ratio, of accuracy in decibels and in samples."""

Figures: TypeAlias = Mapping[tuple[str, str], float]
"""Measured numbers by name and unit."""

THREADS = (1, 2)
CPUS = {"generic": "x86-64", "avx2": "x86-64-v3", "avx512-vnni": "cascadelake"}
"""The instruction sets of the comparison of code, each with a CPU that has it."""
PYTHON = (sys.executable, "-P")
WORKER = str(ROOT / "benchmarks" / "commit_worker.py")
_RANDOM_INPUTS, _DIGITS = 4, 240


@dataclass(frozen=True)
class Tree:
    """The files of one commit, which processes import."""

    name: str
    folder: Path
    work: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that imports this tree, and finds an empty cache."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPATH": str(self.folder), DIRECTORY_VARIABLE: mkdtemp(dir=self.work)}

    def output(self, *task: str) -> str:
        """What Python prints for a task. Raises `SystemExit` with its messages if it fails."""
        done = subprocess.run(
            [*PYTHON, *task], env=self.environment, cwd=self.work, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(task)}\n{done.stderr}")
        return done.stdout

    def answer(self, *task: str) -> dict[str, Any]:
        """What a task of the worker answers."""
        return cast(dict[str, Any], json.loads(self.output(WORKER, *task).splitlines()[-1]))

    def import_seconds(self) -> float:
        """The processor time of `import qmlir` and of what a first call loads."""
        task = "import time, qmlir; qmlir.load, qmlir.quantize, qmlir.compile; print(time.process_time())"
        return float(self.output("-c", task))


@dataclass(frozen=True)
class Row:
    """A figure of the commit, of the commit once more, and of the working tree, for each round."""

    what: str
    unit: str
    base: Sequence[float]
    again: Sequence[float]
    found: Sequence[float]

    @property
    def spread(self) -> float:
        """The largest ratio of the commit to itself, 1 or more."""
        return max(max(a / b, b / a) for a, b in zip(self.base, self.again, strict=True))

    @property
    def ratio(self) -> float:
        """The working tree over the commit: the median of the rounds."""
        own = (statistics.fmean(pair) for pair in zip(self.base, self.again, strict=True))
        return statistics.median(found / base for found, base in zip(self.found, own, strict=True))

    @property
    def is_worse(self) -> bool:
        """Whether it takes more, beyond the spread."""
        return self.ratio > max(self.spread, MARGIN)

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        figures = (statistics.median(self.base), statistics.median(self.found))
        return (self.what, *(f"{each:.4g} {self.unit}" for each in figures), f"{self.ratio:.3f}", f"{self.spread:.3f}")


@dataclass(frozen=True)
class Accuracy:
    """What quantized outputs are like, which no run changes."""

    model: str
    base: Mapping[str, Any]
    found: Mapping[str, Any]

    @property
    def is_worse(self) -> bool:
        """Whether accuracy is lost."""
        right = self.base["right"] is not None and self.found["right"] < self.base["right"] - SAMPLES
        return right or self.found["decibels"] < self.base["decibels"] - DECIBELS

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        texts = [
            f"{each['decibels']:.2f} dB" + ("" if each["right"] is None else f", {each['right']} right")
            for each in (self.base, self.found)
        ]
        same = "equal integers" if self.base["digest"] == self.found["digest"] else "other integers"
        return (f"{self.model}: accuracy", *texts, same, "")


@dataclass(frozen=True)
class Code:
    """Digests of the code for one instruction set, by its kind."""

    what: str
    base: Mapping[str, str]
    found: Mapping[str, str]

    @property
    def is_worse(self) -> bool:
        """Whether any code differs."""
        return self.base != self.found

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        differing = [kind for kind in self.base if self.base[kind] != self.found[kind]]
        digests = (" ".join(digest[:4] for digest in each.values()) for each in (self.base, self.found))
        return (f"{self.what}: code", *digests, "other " + ", ".join(differing) if differing else "equal code", "")


def _write_models(folder: Path, names: Sequence[str]) -> None:
    """The models and their samples, as every commit gets them."""
    for name in names:
        if name == "digits_cnn":
            shutil.copy(DIGITS / f"{name}.onnx", folder)
            images = np.load(DIGITS / "digits_test.npz")
            images = {each: images[each][:_DIGITS] for each in ("labels", "input")}
            np.savez(folder / f"{name}.npz", labels=images["labels"], input=images["input"][:, None])
            continue
        model = BENCH_MODELS[name].build()
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
        runs = [random_inputs(model, seed) for seed in range(_RANDOM_INPUTS)]
        arrays: Any = {each: np.stack([run[each] for run in runs]) for each in runs[0]}
        np.savez(folder / f"{name}.npz", **arrays)


def _extract(base: str, folder: Path) -> Path:
    """The files of a commit."""
    archive = subprocess.run(["git", "archive", base], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        raise SystemExit(archive.stderr.decode(errors="replace").strip())
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def _copy(folder: Path) -> Path:
    """The files of the working tree, which somebody may edit meanwhile."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():  # neither deleted nor a link to a folder
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def _rounds(trees: Sequence[Tree], rounds: int, measure: Callable[[Tree], Figures]) -> Iterator[Row]:
    """A row for each figure of `measure`, which takes the trees in turns."""
    found = [[measure(tree) for tree in trees] for _ in range(rounds)]
    for name, unit in found[0][0]:
        base, again, own = ([each[name, unit] for each in column] for column in zip(*found, strict=True))
        yield Row(name, unit, base, again, own)


def _run_rows(trees: Sequence[Tree], name: str, paths: Sequence[tuple[str, str]], args: Any) -> Iterator[Row]:
    """The times of calls, of processes that stay, in turns."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [*PYTHON, WORKER, "serve", *path],
                    env=tree.environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for tree, path in zip(trees, paths, strict=True)
        ]
        by_tree = dict(zip(trees, processes, strict=True))

        def measure(tree: Tree) -> Figures:
            process = by_tree[tree]
            assert process.stdin is not None
            assert process.stdout is not None
            found: dict[tuple[str, str], float] = {}
            for threads in THREADS:
                process.stdin.write(f"{threads} {args.seconds}\n")
                process.stdin.flush()
                found[f"{name}: run on {threads} threads", "ms"] = 1e3 * json.loads(process.stdout.readline())
            return found

        for tree in trees:
            measure(tree)  # compiles
        yield from _rounds(trees, 2 * args.rounds, measure)
        for process in processes:
            process.terminate()


def _model_rows(trees: Sequence[Tree], name: str, folder: Path, args: Any) -> Iterator[Row | Accuracy]:
    model, archive = str(folder / f"{name}.onnx"), str(folder / f"{name}.npz")
    paths = [(str(folder / f"{name}.{tree.name}.mlir"), archive) for tree in trees]
    by_tree = dict(zip(trees, paths, strict=True))
    answers: dict[Tree, Mapping[str, Any]] = {}

    def quantize(tree: Tree) -> Figures:
        answers[tree] = found = tree.answer("quantize", model, archive, by_tree[tree][0])
        return {
            (f"{name}: quantize", "processor s"): found["processor seconds"],
            (f"{name}: quantize, peak of memory", "MB"): found["peak bytes"] / 1e6,
        }

    def compile_cold(tree: Tree) -> Figures:
        found = tree.answer("compile", *by_tree[tree])
        return {
            (f"{name}: compile, empty cache", "processor s"): found["processor seconds"],
            (f"{name}: compile, peak of memory", "MB"): found["peak bytes"] / 1e6,
        }

    yield from _rounds(trees, args.rounds, quantize)
    yield Accuracy(name, answers[trees[0]], answers[trees[-1]])
    yield from _rounds(trees, args.rounds, compile_cold)
    yield from _run_rows(trees, name, paths, args)


def _model_names(work: Path, args: Any) -> list[str]:
    """Write the models and their samples to `work`, and return their names."""
    _write_models(work, args.models)
    names = [*args.models]
    if args.folder is not None:
        for path in sorted(args.folder.glob("*.onnx")):
            if path.with_suffix(".npz").is_file():
                names.append(path.stem)
                shutil.copy(path, work)
                shutil.copy(path.with_suffix(".npz"), work)
    return names


def _code_rows(base: str, work: Path, args: Any) -> Iterator[Code]:
    """The code of both trees for the same quantized modules, which the commit makes."""
    names = _model_names(work, args)
    trees = (Tree("base", _extract(base, work / "of_base"), work), Tree("found", _copy(work / "of_tree"), work))
    for name in names:
        module = str(work / f"{name}.mlir")
        trees[0].output(WORKER, "quantize", str(work / f"{name}.onnx"), str(work / f"{name}.npz"), module)
        for isa, cpu in CPUS.items():
            base_code, own_code = (tree.answer("code", module, isa, cpu) for tree in trees)
            yield Code(f"{name}: {isa}", base_code, own_code)


def _rows(base: str, work: Path, args: Any) -> Iterator[Row | Accuracy]:
    names = _model_names(work, args)
    folder, own = _extract(base, work / "of_base"), _copy(work / "of_tree")
    trees = [Tree("base", folder, work), Tree("again", folder, work), Tree("found", own, work)]
    for tree in trees:
        tree.import_seconds()  # writes bytecode
    yield from _rounds(trees, 3 * args.rounds, lambda tree: {("import", "processor s"): tree.import_seconds()})
    for name in names:
        yield from _model_rows(trees, name, work, args)


def _print(cells: Sequence[str]) -> None:
    widths = (42, 24, 24, 14, 0)
    print("  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip(), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Print all figures as they are measured, then the rows that are worse; 1 if there are any."""
    known = ("digits_cnn", *BENCH_MODELS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument("base", help="a commit")
    parser.add_argument("--models", nargs="*", choices=known, default=known, metavar="NAME", help=", ".join(known))
    parser.add_argument("--folder", type=Path, help="models NAME.onnx, each with its samples in NAME.npz")
    parser.add_argument("--code", action="store_true", help="compare only the code that is written, digest by digest")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a program runs in a turn")
    args = parser.parse_args(argv)
    if args.rounds < 1 or not 0 < args.seconds < math.inf:
        parser.error("rounds and seconds must be above 0")
    _print(("what", args.base, "working tree", "ratio", "base against itself"))
    rows: list[Row | Accuracy | Code] = []
    with TemporaryDirectory() as work:
        measure = _code_rows if args.code else _rows
        for row in measure(args.base, Path(work), args):  # a comparison that is interrupted has shown its rows
            _print(row.cells())
            rows.append(row)
    worse = [row for row in rows if row.is_worse]
    print(f"{len(worse)} of {len(rows)} rows are worse" + ":" * bool(worse))
    for row in worse:
        _print(row.cells())
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
