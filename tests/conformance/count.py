"""How many of ONNX's node tests are interpreted, and how many compiled: `python -m tests.conformance.count`.

Tests that draw random numbers, or run what training runs, are counted apart: they have no one result. The figures are
those of the lists of exceptions, which `make conformance` holds both ways. With `--run` every test is run instead, with
islands where nothing imports an operator, and counted by what computed it.
"""

import argparse
import json
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from onnx import AttributeProto, GraphProto
from onnx.backend.test.runner import Runner

from qmlir.dialects.nn.island.ops import OnnxIslandOp
from qmlir.targets.heterogeneous import HybridProgram
from tests.conformance.backend import QmlirBackend
from tests.conformance.cases import Case, node_cases
from tests.conformance.test_compiled import NOT_COMPILED, run_compiled
from tests.conformance.test_islands import NOT_HERE, OUTSIDE

RANDOM = frozenset({
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
})  # fmt: skip
TRAINING = "test_training_"
"""How tests begin whose operator drops elements at random."""

OWN, ISLANDS, APART = "by qmlir alone", "with other runtimes", "of text, sequences and optional values"
"""What computes a test; and, of those that do not pass, the tests that have no numbers in and out."""


@dataclass(frozen=True)
class Outcome:
    """What became of one test: for each way to run it `OWN`, `ISLANDS`, or the error."""

    name: str
    interpreted: str
    compiled: str


def _graphs(graph: GraphProto) -> Iterable[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def is_counted(case: Case) -> bool:
    """Whether a test has one result that is expected."""
    operators = {node.op_type for graph in _graphs(case.model.graph) for node in graph.node}
    return not operators & RANDOM and not case.name.startswith(TRAINING)


def is_of_numbers(case: Case) -> bool:
    """Whether inputs and outputs are tensors of numbers."""
    ports = (*case.model.graph.input, *case.model.graph.output)
    return all(each.type.tensor_type.elem_type not in (0, 8) for each in ports)


def _reason(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def outcome_of(name: str) -> Outcome:
    """Run one test both ways."""
    case = node_cases()[name]
    warnings.simplefilter("ignore")
    try:
        prepared = QmlirBackend.prepare(case.model, fallback=True)
        for inputs, expected in case.data_sets:
            Runner.assert_similar_outputs(expected, prepared.run(inputs), case.rtol, case.atol)
    except Exception as error:  # what does not pass is what is counted
        return Outcome(name, _reason(error), _reason(error))
    has_island = any(isinstance(op, OnnxIslandOp) for op in prepared.module.walk())
    try:
        program = run_compiled(case, fallback=True)
    except Exception as error:
        compiled = _reason(error)
    else:
        compiled = ISLANDS if isinstance(program, HybridProgram) else OWN
    return Outcome(name, ISLANDS if has_island else OWN, compiled)


def listed(name: str) -> Outcome:
    """What the lists of exceptions say of one test."""
    if name not in OUTSIDE:
        return Outcome(name, OWN, NOT_COMPILED.get(name, OWN))
    reason = NOT_HERE.get(name, ISLANDS)
    return Outcome(name, ISLANDS if reason.startswith("compiled programs") else reason, reason)


def _shown(title: str, found: dict[str, str]) -> None:
    """Print how many tests each runtime passes, and the others by reason."""
    passed = Counter(each for each in found.values() if each in (OWN, ISLANDS))
    rows = ", ".join(f"{passed[each]} {each}" for each in (OWN, ISLANDS))
    print(f"{title}: {passed.total()} of {len(found)} ({rows})")
    others: dict[str, list[str]] = defaultdict(list)
    for name, reason in found.items():
        if reason not in passed:
            others[reason if is_of_numbers(node_cases()[name]) else APART].append(name)
    for reason, names in sorted(others.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):4} {reason[:150]}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}")


def _run(names: Sequence[str], file: Path, processes: int) -> list[Outcome]:
    found: list[Outcome] = []
    with ProcessPoolExecutor(processes) as pool, file.open("w") as rows:
        for each in pool.map(outcome_of, names):
            found.append(each)
            print(json.dumps(asdict(each)), file=rows, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.count", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these tests")
    parser.add_argument("--run", type=Path, metavar="FILE", help="run them, and write a row of JSON for each there")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many at once")
    options = parser.parse_args(arguments)
    names = options.names or sorted(name for name, case in node_cases().items() if is_counted(case))
    found = list(map(listed, names)) if options.run is None else _run(names, options.run, options.processes)
    apart = sum(not is_counted(case) for case in node_cases().values())
    print(f"{len(node_cases())} node tests, {apart} of them of random numbers and training")
    _shown("interpreted", {each.name: each.interpreted for each in found})
    _shown("compiled", {each.name: each.compiled for each in found})


if __name__ == "__main__":
    main()
