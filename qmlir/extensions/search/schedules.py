"""The candidate schedules of a contraction, and the files of tuned schedules."""

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import llvmlite
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, i32
from xdsl.ir import Attribute, Operation

from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.ops import RequantizeOp, YieldOp, shaped
from qmlir.dialects.kernel.variants import variant_named
from qmlir.dialects.kernel.winograd import ALGORITHMS, Algorithm
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, op_error, text_error
from qmlir.targets.cpu.cache import DIRECTORY_VARIABLE, TUNED, cache_directory, check_directory, is_private
from qmlir.targets.cpu.host import host_features
from qmlir.targets.cpu.isa import instruction_set
from qmlir.targets.cpu.isa.base import Row
from qmlir.targets.cpu.runtime.processor import processor_name
from qmlir.targets.cpu.scheduled.schedule import (
    Choices,
    has_winograd_form,
    most_tiles,
    positions_of,
    register_tiles,
    schedule_for,
    schedule_of,
    schedule_of_tile,
)
from qmlir.targets.cpu.scheduled.tuned import UNTUNED, Tuned
from qmlir.text.data import JsonValue, parse_data
from qmlir.text.files import read_regular
from qmlir.text.writing import write_own

# The candidate schedules of a contraction, and the file of tuned schedules.

# The file of tuned schedules: for each kernel the fastest schedule, and the times.
#
# It is JSON, with one entry for each kernel under the digest of its identity. Each entry has its own digest: an entry
# that was changed by hand or by accident is ignored. The schedule in an entry is validated when it is used.
#
# Two contractions are the same kernel if everything that determines the speed of their loops is equal: sizes, types,
# strides of windows, whether weights are constant, the variants that accept them, the operations of the epilogue.
# Values and names don't matter.

_NUMBERS = ("schedule", "operandSegmentSizes", "epilogue_maps", "input_zero_point", "weight_zero_point")
"""Properties that are compared separately, or not at all."""


def _text(attribute: Attribute) -> str:
    if isinstance(attribute, DenseArrayBase):
        return "x".join(map(str, attribute.get_values()))
    return str(attribute)


def _steps(op: ContractionOp) -> Iterator[str]:
    """Yields the operations of the epilogue by name and type."""
    for each in op.body.walk():
        if isinstance(each, ConstantOp | YieldOp):
            continue
        mode = f"<{each.mode.mode}>" if isinstance(each, RequantizeOp) else ""
        yield f"{each.name}{mode} {','.join(str(value.type) for value in each.results)}"


def _is_known(op: ContractionOp) -> bool:
    owner = op.w.owner
    return isinstance(owner, Operation) and isinstance(owner, ConstantOp)


def kernel_identity(op: ContractionOp, isa: str, threads: int) -> str:
    """Returns a line that is equal for contractions with the same best schedule.

    It includes the instruction set and the number of threads. `op` must not be packed yet.
    """
    properties = [f"{name}={_text(value)}" for name, value in sorted(op.properties.items()) if name not in _NUMBERS]
    epilogue = [
        f"{value.type} by {attribute.data}" for value, attribute in zip(op.epilogue, op.epilogue_maps, strict=True)
    ]
    variants = dict.fromkeys(row.variant for row in instruction_set(isa).rows_for(op))
    parts = (
        f"{isa}, {threads} thread{'s' if threads > 1 else ''}",
        f"{op.name} {op.x.type} by {'constant ' if _is_known(op) else ''}{op.w.type} to {op.target.type}",
        ", ".join(properties),
        f"sums {op.accumulator_type}, loops {', '.join(variants)}",
        "; ".join(epilogue),
        "; ".join(_steps(op)),
    )
    return " | ".join(part for part in parts if part)


FORMAT = "qmlir-tuning"
VERSION = 1
_KERNELS, _DIGEST = "kernels", "digest"
_SHORTEST = 1e-12
"""A lower bound of times in seconds: no loop is faster, and times are divided by each other."""


@dataclass(frozen=True)
class TunedKernel:
    """The result of tuning one kernel."""

    kernel: str
    """The kernel's identity (`kernel_identity`)."""

    schedule: str | None
    """The schedule that is faster than the built-in one; `None` if none is."""

    default: str
    """The built-in schedule, from the tables."""

    seconds: float
    """The shortest time of the fastest schedule."""

    default_seconds: float
    """The shortest time of the built-in schedule."""

    tried: int
    """Number of schedules that were timed."""

    @staticmethod
    def of(data: JsonValue) -> "TunedKernel":
        """Parses an entry. Raises `DiagnosticError` if it is malformed."""
        schedule = data["schedule"]
        return TunedKernel(
            data["kernel"].text(),
            None if schedule.value is None else schedule.text(),
            data["default"].text(),
            data["seconds"].number(_SHORTEST),
            data["default_seconds"].number(_SHORTEST),
            data["tried"].integer(0),
        )

    @property
    def key(self) -> str:
        """The key of the entry in the file."""
        return key_of(self.kernel)

    @property
    def gain(self) -> float:
        """The fraction of the time that the schedule saves."""
        return 0.0 if self.schedule is None else 1 - self.seconds / self.default_seconds


def key_of(identity: str) -> str:
    """Returns the key under which a kernel is stored."""
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _digest(entry: Mapping[str, Any]) -> str:
    content = {name: value for name, value in entry.items() if name != _DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def tuning_text(kernels: Mapping[str, TunedKernel]) -> str:
    """Formats a file with these entries, by key."""
    entries = {key: asdict(kernels[key]) for key in sorted(kernels)}
    content = {key: {**entry, _DIGEST: _digest(entry)} for key, entry in entries.items()}
    return json.dumps({"format": FORMAT, "version": VERSION, _KERNELS: content}, indent=1) + "\n"


def _entry(key: str, found: JsonValue) -> TunedKernel | None:
    """Parses an entry; returns `None` if it is malformed or its digest doesn't match."""
    try:
        made = TunedKernel.of(found)
        is_whole = found.value == {**asdict(made), _DIGEST: _digest(asdict(made))} and made.key == key
    except DiagnosticError:
        return None
    return made if is_whole else None


@dataclass(frozen=True)
class Tuning:
    """The entries of a file by key, and the number of damaged ones."""

    kernels: Mapping[str, TunedKernel]
    damaged: int = 0

    @staticmethod
    def from_text(text: str | bytes) -> "Tuning":
        """Parses the output of `tuning_text`. Raises `DiagnosticError` for any other text."""
        data = parse_data(text, "it")
        data["format"].text([FORMAT])
        data["version"].integer(VERSION, VERSION)
        found = {key: _entry(key, entry) for key, entry in data[_KERNELS].entries().items()}
        whole = {key: entry for key, entry in found.items() if entry is not None}
        return Tuning(whole, len(found) - len(whole))

    @staticmethod
    def read(path: Path) -> "Tuning":
        """Reads the file at `path`. Raises a one-line `DiagnosticError` if it cannot be read or has another format."""
        try:
            text = read_regular(path)
        except OSError as error:
            raise text_error(f"cannot read the tuned schedules '{path}': {error.strerror}") from error
        try:
            return Tuning.from_text(text)
        except DiagnosticError as error:
            raise text_error(f"'{path}' does not contain tuned schedules: {error.diagnostic.message}") from error

    def digest(self) -> str:
        """Returns a digest of the schedules that differ from the built-in ones; empty if none does."""
        chosen = {key: each.schedule for key, each in self.kernels.items() if each.schedule is not None}
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest() if chosen else ""


# The candidate schedules of a contraction: those that a search tries, and the only ones that a file may name.
#
# All of them compute the same values. For integers, every variant whose table row accepts the operation is a candidate;
# for floats only the built-in one, as another may round differently.

_OTHERS = 2
"""Registers that hold neither accumulators nor weights: the broadcast operand, and a constant."""

_MOST_VECTORS, _MOST_ROWS = 4, 14
"""The largest tile along each axis: larger ones read more than they save."""

_MOST_HEIGHTS = 3
"""Number of row counts tried for each number of vectors: smaller tiles read weights more often."""


def _rows(positions: int, most: int) -> Iterator[int]:
    """Yields row counts of tiles from `most` down.

    These are the ones without a remainder, and those that make tiles of similar size.
    """
    if positions <= most:
        yield max(positions, 1)
        return
    fitting = (
        rows
        for rows in range(most, max(most // 2, 1) - 1, -1)
        if positions % rows == 0 or rows == -(-positions // -(-positions // rows))
    )
    yield from islice(fitting, _MOST_HEIGHTS)


def _tiles(op: ContractionOp, row: Row, registers: int) -> Iterator[tuple[int, int]]:
    """Yields the rows and vectors of the tiles that fit the registers."""
    widths = (row.vectors,) if variant_named(row.variant).is_interleaved else range(_MOST_VECTORS, 0, -1)
    for vectors in widths:
        most = (registers - vectors - _OTHERS) // vectors
        yield from ((rows, vectors) for rows in _rows(positions_of(op), min(most, _MOST_ROWS)) if most > 0)


def _direct(op: ContractionOp, isa: str, threads: int) -> Iterator[ScheduleAttr]:
    found = instruction_set(isa)
    first, *others = found.rows_for(op)
    for tile in _tiles(op, first, found.registers):
        yield schedule_of(op, found, first, tile, threads)
    if isinstance(op.accumulator_type, AnyFloat):
        return
    for row in others:
        # Variants with fewer products per instruction never catch up.
        if row.variant != "splat" or variant_named(first.variant).group == 1:
            yield schedule_of(op, found, row, (row.rows, row.vectors), threads)


def _by_winograd(op: ConvOp, form: Algorithm, isa: str, threads: int) -> Iterator[ScheduleAttr]:
    batch, height, width, outputs = shaped(op.target)[0]
    inputs, count = shaped(op.x)[0][-1], batch * -(-height // form.step) * -(-width // form.step)
    most = most_tiles(form, count, inputs, threads)
    for tile in register_tiles(form, isa):
        for number in sorted({-(-most // tile.rows), -(-most // (2 * tile.rows)), 1}, reverse=True):
            yield schedule_of_tile(form, isa, tile, min(tile.rows * number, count), count, (inputs, outputs), threads)


def _unthreaded(schedule: ScheduleAttr) -> ScheduleAttr:
    numbers = (schedule.rows, schedule.vectors, schedule.lanes, schedule.k_unroll)
    return ScheduleAttr.of(schedule.variant, *numbers, block=schedule.block, prefetch=schedule.prefetch)


def candidates(op: ContractionOp, isa: str, threads: int) -> tuple[ScheduleAttr, ...]:
    """Returns the schedules that `op` supports on `isa`, without duplicates, the built-in one first.

    With several threads, each threaded schedule is also returned without threading.
    """
    if math.prod(shaped(op.target)[0]) == 0:
        return (schedule_for(op, isa, threads),)
    found = [schedule_for(op, isa, threads), *_direct(op, isa, threads)]
    if isinstance(op, ConvOp) and op.accumulator_type == i32:
        for form in ALGORITHMS.values():
            if has_winograd_form(op, form):
                found += _by_winograd(op, form, isa, threads)
    return tuple(dict.fromkeys(each for made in found for each in (made, _unthreaded(made))))


@dataclass(frozen=True)
class TunedChoices:
    """The tuned schedules in the file at `path` (none if it is empty) for an instruction set and thread count."""

    path: str
    isa: str
    threads: int

    @cached_property
    def _tuning(self) -> Tuning:
        """The content of the file. Raises `DiagnosticError` if it cannot be read or has another format."""
        found = Tuning.read(Path(self.path)) if self.path else Tuning({})
        if found.damaged:
            many = "entries are" if found.damaged > 1 else "entry is"
            emit(Diagnostic(Severity.WARNING, f"'{self.path}': {found.damaged} damaged {many} left out"))
        return found

    def schedule(self, op: ContractionOp) -> ScheduleAttr | None:
        """Returns the tuned schedule of `op`; `None` if the built-in one is fastest, or none was searched.

        Warns about a schedule that `op` does not support, and ignores it.
        """
        if not self._tuning.kernels:
            return None
        found = self._tuning.kernels.get(key_of(kernel_identity(op, self.isa, self.threads)))
        if found is None or found.schedule is None:
            return None
        for each in candidates(op, self.isa, self.threads):
            if str(each) == found.schedule:
                return each
        told = op_error(
            op, f"ignoring {found.schedule} of '{self.path}', which is invalid for this operation"
        ).diagnostic
        emit(replace(told, severity=Severity.WARNING))
        return None


def schedule_choices(path: str, isa: str, threads: int) -> Choices:
    """Implements the service `schedule_choices`."""
    return TunedChoices(path, isa, threads).schedule


# Storage of tuned schedules: next to the program cache, one file for each instruction set and machine.
#
# The folder `tuned` in the cache folder must be private to the user, as the cache is: a file that others can write
# is not read. File names depend on everything that determines the speed of loops: instruction set, threads, CPU, and
# the versions of the code generators.

OnTrouble = Callable[[str], None]
"""Called with the reason why a stored result is ignored."""


def store_path(isa: str, threads: int) -> Path:
    """Returns the path of the file for this machine. Raises `DiagnosticError` if the user has no cache folder."""
    parts = [sorted(host_features()), version("qmlir"), llvmlite.__version__]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    try:
        return cache_directory() / TUNED / f"{isa}-{threads}-{processor_name()}-{digest}.json"
    except RuntimeError as error:  # the user has no home
        raise text_error(
            f"cannot determine the folder of tuned schedules: {error}; set {DIRECTORY_VARIABLE}"
        ) from error


def read_store(path: Path, on_trouble: OnTrouble) -> Tuning:
    """Reads the file at `path`; empty, with a call of `on_trouble`, if it is not private to the user or is damaged."""
    nothing = Tuning({})
    try:
        if path.parent.parent.is_symlink():
            on_trouble(f"'{path.parent.parent}' is a link: its schedules are left out")
            return nothing
        for each in (path.parent, path):
            if not is_private(each):
                on_trouble(f"'{each}' can be read or written by others, or belongs to them: its schedules are left out")
                return nothing
        found = Tuning.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return nothing
    except OSError as error:
        on_trouble(f"cannot read '{path}': {error.strerror}; its schedules are left out")
        return nothing
    except DiagnosticError as error:
        on_trouble(f"{error.diagnostic.message}; it is left out")
        return nothing
    if found.damaged:
        on_trouble(f"'{path}': {found.damaged} damaged {'entries are' if found.damaged > 1 else 'entry is'} left out")
    return found


def write_store(path: Path, kernels: Mapping[str, TunedKernel]) -> None:
    """Writes `kernels` to `path` atomically, readable by the user alone. Raises `DiagnosticError`."""
    try:
        check_directory(path.parent.parent)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not is_private(path.parent):
            raise text_error(f"cannot save tuned schedules in '{path.parent}': other users can read or write it")
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise text_error(f"cannot save tuned schedules in '{path}': it is a link, or not a regular file")
        if not path.exists():
            path.touch(mode=0o600)  # the mode of an existing file is kept
        path.chmod(0o600)
    except OSError as error:
        raise text_error(f"cannot save tuned schedules in '{path.parent}': {error.strerror}") from error
    write_own(path, tuning_text(kernels))


def tuned_for(isa: str, threads: int, on_trouble: OnTrouble) -> Tuned:
    """Implements the service `tuned_schedules`: the stored results, or `UNTUNED` if no schedule is faster."""
    try:
        path = store_path(isa, threads)
    except DiagnosticError:  # the cache reports the missing folder
        return UNTUNED
    digest = read_store(path, on_trouble).digest()
    return Tuned(str(path), digest) if digest else UNTUNED
