"""Programs for dynamic sizes: a compiled program for each bucket (capacity) of each dynamic dimension.

Bucket sizes are powers of two, so at most half of the computed elements are padding. A dimension without buckets must
have independent elements, like the samples of a batch: it runs one element at a time.
"""

import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.symbolic_sizes import Extent, Factor, Quotient
from qmlir.dialects.nn.padding_rules import Axes
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.specialization.padding import Outline, open_sizes, pad_function
from qmlir.target import HOST
from qmlir.targets.cpu.emitters.card import read_card
from qmlir.targets.cpu.package import CARD, INIT
from qmlir.targets.cpu.runtime.lengths import AnyLength, PaddedPorts, described
from qmlir.targets.cpu.saved import LENGTHS, part_name, seal, seal_parts

SMALLEST = 16
"""The smallest default capacity; programs for smaller capacities are not faster."""

Lengths = Mapping[str, int | Sequence[int]]
"""The maximum size, or the capacities, of each dynamic dimension by name."""


def capacities_up_to(largest: int) -> tuple[int, ...]:
    """Returns the default capacities up to `largest`: powers of two from `SMALLEST`, and `largest`."""
    powers = itertools.takewhile(lambda size: size < largest, (SMALLEST << step for step in itertools.count()))
    return (*powers, largest)


def checked_lengths(module: ModuleOp, lengths: Lengths, function: str) -> dict[str, tuple[int, ...]]:
    """Returns the capacities of each dynamic dimension. Raises `DiagnosticError` for an unknown name or bad size."""
    known = open_sizes(module, function)
    found: dict[str, tuple[int, ...]] = {}
    for name, given in lengths.items():
        if name not in known:
            raise text_error(unknown("dynamic dimension", name, known))
        sizes = capacities_up_to(given) if isinstance(given, int) else tuple(sorted(set(given)))
        if not sizes or sizes[0] < 1:
            raise text_error(f"the maximum size of '{name}' must be at least 1, but got {given}")
        found[name] = sizes
    return found


def all_capacities(outline: Outline, lengths: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Returns every combination of capacities to compile.

    A capacity that the model doesn't support is replaced by the next smaller one that it does. Raises `DiagnosticError`
    if a dimension needs capacities and has none.
    """
    for name in outline.sizes:
        if name in outline.mixed and name not in lengths:
            raise text_error(
                f"dimension '{name}' cannot be split; pass its maximum size with --max-size {name}=256 "
                f"(max_sizes={{'{name}': 256}})"
            )
    each = [[(name, size) for size in _taken(outline, name, lengths.get(name, (1,)))] for name in outline.sizes]
    return [dict(chosen) for chosen in itertools.product(*each)]


def _taken(outline: Outline, name: str, sizes: tuple[int, ...]) -> list[int]:
    """Returns, for each of `sizes`, the largest size up to it that the model supports."""
    conditions = [condition for condition in outline.conditions if condition.names == (name,)]
    below = (range(size, 0, -1) for size in sizes)
    fitting = ((size for size in each if all(known.holds({name: size}) for known in conditions)) for each in below)
    found = sorted({size for size in (next(each, 0) for each in fitting) if size})
    if not found:
        said = "; ".join(map(str, conditions))
        raise text_error(f"no size of '{name}' up to {sizes[-1]} is valid: {said}")
    return found


def _factor(factor: Factor) -> Any:
    if not isinstance(factor, Quotient):
        return factor
    terms = [[_factor(each), scale] for each, scale in factor.terms]
    return {"terms": terms, "add": factor.add, "divisor": factor.divisor, "most": factor.most}


def _factors(extent: Extent) -> list[Any]:
    return [_factor(factor) for factor in extent.factors] or [1]


def _listed(axes: Mapping[str, Axes]) -> dict[str, list[list[Any]]]:
    return {name: [_factors(extent) for extent in each] for name, each in axes.items()}


@dataclass(frozen=True)
class PaddedModule:
    """A module padded to `capacities`; `takes` names the input that passes each runtime size."""

    capacities: Mapping[str, int]
    takes: Mapping[str, str]
    module: ModuleOp


def padded_modules(module: ModuleOp, combinations: Iterable[Mapping[str, int]], function: str) -> list[PaddedModule]:
    """Returns a padded clone of `module` for each combination. Raises `DiagnosticError` if it can't be padded."""
    clones = [(capacities, module.clone()) for capacities in combinations]
    return [PaddedModule(each, pad_function(clone, each, function), clone) for each, clone in clones]


def plan_of(outline: Outline) -> PaddedPorts:
    """Returns the plan that tells `AnyLength` how to call the programs of the buckets."""
    pieces = [name for name in outline.sizes if name not in outline.mixed]
    conditions = [(_factors(each.left), _factors(each.right), each.is_equal, str(each)) for each in outline.conditions]
    return PaddedPorts(_listed(outline.inputs), _listed(outline.outputs), pieces, conditions)


def write_lengths(
    folder: Path,
    program: AnyLength,
    parts: Sequence[Path],
    ignore: Callable[..., Any],
    about: Mapping[str, Any] | None = None,
) -> None:
    """Writes a program for dynamic sizes: a package with the program of each bucket, from the folders `parts`."""
    folder.mkdir()
    names = [*map(part_name, range(len(parts)))]
    for name, part in zip(names, parts, strict=True):
        shutil.copytree(part, folder / name, ignore=ignore)
        seal(folder / name, about)
    (folder / LENGTHS).write_text(json.dumps(program.description()), encoding="utf-8")
    (folder / INIT).write_text(_INIT, encoding="utf-8")
    largest = read_card(folder / names[-1] / CARD)
    seal_parts(folder, replace(largest, parts=dict.fromkeys(names, HOST)), about)


def read_lengths(folder: Path, loaded: Callable[[Path], Any]) -> AnyLength:
    """Reads a program that `write_lengths` wrote; its files must have been checked against its card."""
    description = json.loads((folder / LENGTHS).read_text(encoding="utf-8"))
    return described(
        description, [loaded(folder / part_name(position)) for position in range(len(description["buckets"]))]
    )


_INIT = '''"""A compiled neural network for any length: `program(inputs)` gives the outputs by name."""

import json
from importlib import import_module
from pathlib import Path

from .part0.runtime.errors import InputError
from .part0.runtime.lengths import described

__all__ = ["InputError", "program"]

_DESCRIPTION = json.loads((Path(__file__).parent / "lengths.json").read_text(encoding="utf-8"))

program = described(
    _DESCRIPTION,
    [import_module(f".part{place}", __name__).program for place in range(len(_DESCRIPTION["buckets"]))],
    __name__,
)
'''
