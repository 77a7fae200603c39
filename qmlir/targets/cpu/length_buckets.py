"""Programs for dynamic sizes: a compiled program for each bucket (capacity) of each dynamic dimension.

If the loops along a dimension can end at its runtime size (`kernel-follow-lengths`), one capacity serves all sizes up
to the maximum. Otherwise, bucket sizes are powers of two, so at most half of the computed elements are padding. A
dimension without buckets must have independent elements, like the samples of a batch: it runs one element at a time.
"""

import itertools
import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, ModuleOp, i64

from qmlir.arithmetic.symbolic_sizes import Extent, Factor, Quotient
from qmlir.dialects.kernel.lengths import FOLLOWED, lengths_of
from qmlir.dialects.nn.padding_rules import Axes
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, text_error, unknown
from qmlir.specialization.padding import Outline, open_sizes, pad_function
from qmlir.target import HOST
from qmlir.targets.cpu.emitters.card import read_card
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import InstructionSet
from qmlir.targets.cpu.package import CARD, INIT, share_constants
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


SMALLEST_FOLLOWED = 64
"""The smallest maximum for which loops follow the runtime size; smaller ones have few elements of padding."""

SMALLEST_PRIME = 11
"""The smallest prime factor of a capacity that loops may follow: it must not divide the rows of a register tile."""

Followed = Mapping[str, tuple[int, int]]
"""For each dimension whose loops may follow its runtime size: the prime and the unit whose product is its capacity."""


def _shapes(module: ModuleOp) -> Iterator[tuple[int, ...] | None]:
    """Yields the shapes of all values: of the arguments of blocks, and of results."""
    for op in module.walk():
        blocks = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*blocks, *op.results):
            type_ = ranked_tensor(value.type)
            yield None if type_ is None else type_.get_shape()


def _static_sizes(module: ModuleOp) -> set[int]:
    return {size for shape in _shapes(module) for size in shape or () if size > 0}


def _primes(start: int, stop: int, step: int = 1) -> Iterator[int]:
    return (
        number
        for number in range(start, stop, step)
        if number > 1 and all(number % each for each in range(2, math.isqrt(number) + 1))
    )


MOST_IN_UNIT = 32
"""The largest unit: a call computes up to one unit of padding."""


def _unit(isa: InstructionSet) -> int:
    """Returns the number of columns that tiles of several rows compute at a time if they are along a dimension."""
    tiles = (row.vectors for row in isa.rows if row.rows >= 4 and not row.variant.startswith("depthwise"))
    return min(max(tiles) * isa.bits // 32, MOST_IN_UNIT)


def followed_lengths(module: ModuleOp, outline: Outline, lengths: Lengths, isa: str, skipped: int = 0) -> Followed:
    """Returns the dimensions with a maximum size whose loops may follow the runtime size; skips the first primes.

    The prime divides no static size of the module. The unit is the width of a register tile in 32-bit lanes. The
    capacity is at least the maximum, unless the model supports no such size.
    """
    found: dict[str, tuple[int, int]] = {}
    static, unit = _static_sizes(module), _unit(instruction_set(isa))
    for name, most in lengths.items():
        if not isinstance(most, int) or most < SMALLEST_FOLLOWED or name in outline.derived:
            continue
        conditions = [condition for condition in outline.conditions if name in condition.names]
        if name not in outline.mixed or any(condition.names != (name,) for condition in conditions):
            continue
        least = max(-(-most // unit), SMALLEST_PRIME)
        primes = (
            prime
            for prime in itertools.chain(
                _primes(least, 2 * least), _primes(least - 1, max(least // 2, SMALLEST_PRIME) - 1, -1)
            )
            if all(size % prime for size in static)
            and prime not in {each for each, _ in found.values()}
            and all(condition.holds({name: unit * prime}) for condition in conditions)
        )
        if (prime := next(itertools.islice(primes, skipped, None), None)) is not None:
            found[name] = prime, unit
    return found


@dataclass(frozen=True)
class PaddedModule:
    """A module padded to `capacities`; `takes` names the input that passes each runtime size."""

    capacities: Mapping[str, int]
    takes: Mapping[str, str]
    module: ModuleOp
    others: Sequence[ModuleOp] = ()
    """The module with other primes, if it has `kernel.lengths`: its loops must depend on them in the same way."""


def padded_modules(
    module: ModuleOp, combinations: Iterable[Mapping[str, int]], function: str, followed: Followed | None = None
) -> list[PaddedModule]:
    """Returns a padded clone of `module` for each combination. Raises `DiagnosticError` if it can't be padded.

    If each size of a clone is a multiple of the capacity of a dimension in `followed`, or does not depend on it, the
    clone has the attribute `kernel.lengths`.
    """
    found: list[PaddedModule] = []
    for capacities in combinations:
        own = {name: each for name, each in (followed or {}).items() if math.prod(each) == capacities[name]}
        clone, takes = _padded(module, capacities, function, own)
        others: Sequence[ModuleOp] = ()
        if FOLLOWED in clone.attributes:
            others = [each for each in _with_other_primes(module, capacities, function, own) if _scales(clone, each)]
            if not others:
                del clone.attributes[FOLLOWED]
        found.append(PaddedModule(capacities, takes, clone, others))
    return found


def _padded(
    module: ModuleOp, capacities: Mapping[str, int], function: str, followed: Followed
) -> tuple[ModuleOp, dict[str, str]]:
    """Returns a padded clone, with `kernel.lengths` if it takes the runtime sizes, and the inputs that pass them."""
    clone = module.clone()
    takes = pad_function(clone, {**capacities, **{name: math.prod(each) for name, each in followed.items()}}, function)
    if followed and followed.keys() <= takes.keys():
        rows = {takes[name]: DenseArrayBase.from_list(i64, numbers) for name, numbers in followed.items()}
        clone.attributes[FOLLOWED] = DictionaryAttr(rows)
    return clone, takes


def _with_other_primes(
    module: ModuleOp, capacities: Mapping[str, int], function: str, followed: Followed
) -> list[ModuleOp]:
    """Returns a padded module for the next primes, and one for the previous ones, as far as it can be padded."""
    static, found = _static_sizes(module), list[ModuleOp]()
    for step in (1, -1):
        other: dict[str, tuple[int, int]] = {}
        for name, (prime, unit) in followed.items():
            known = {number for number, _ in (*other.values(), *followed.values())}
            near = _primes(prime + step, 2 * prime if step > 0 else SMALLEST_PRIME - 1, step)
            new = next((each for each in near if each not in known and all(size % each for size in static)), None)
            other |= {} if new is None else {name: (new, unit)}
        if other.keys() == followed.keys():
            with suppress(DiagnosticError):  # a size that the model doesn't support
                found.append(_padded(module, capacities, function, other)[0])
    return found


def _scales(padded: ModuleOp, other: ModuleOp) -> bool:
    """Returns true if each size is proportional to a prime of both modules, or is the same and divided by none."""
    if FOLLOWED not in other.attributes:
        return False
    primes = [(one.prime, two.prime) for one, two in zip(lengths_of(padded), lengths_of(other), strict=True)]

    def is_alike(size: int, larger: int) -> bool:
        found = [(prime, new) for prime, new in primes if size % prime == 0]
        if not found:
            return size == larger
        (prime, new), *more = found
        return not more and size % prime**2 != 0 and size * new == larger * prime

    for one, two in itertools.zip_longest(_shapes(padded), _shapes(other), fillvalue=()):
        if one is None or two is None or len(one) != len(two):
            if one is not two:
                return False
        elif not all(map(is_alike, one, two)):
            return False
    return True


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
    weights = share_constants(folder, names)
    for name in names:
        seal(folder / name, about)
    (folder / LENGTHS).write_text(json.dumps(program.description()), encoding="utf-8")
    (folder / INIT).write_text(_INIT, encoding="utf-8")
    largest = read_card(folder / names[-1] / CARD)
    seal_parts(folder, replace(largest, parts=dict.fromkeys(names, HOST), weights_bytes=weights), about)


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
