"""The file of a schedule search: for each kernel the schedule that was fastest, and the times.

JSON, an entry for each kernel under the digest of its identity. An entry has a digest of its own: one that was changed
by hand or by accident is not an entry. What a schedule says is checked where it is used.

Two contractions are the same kernel where all is equal that decides how fast their loops are: sizes, types, steps of
windows, whether weights are known, the loops that accept them, the operations of the epilogue; not numbers and names.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation

from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.dialects.kernel.ops import RequantizeOp, YieldOp
from qmlir.ir.diagnostics import DiagnosticError, text_error
from qmlir.targets.cpu.isa import instruction_set
from qmlir.text.data import JsonValue, parse_data
from qmlir.text.files import read_regular

_NUMBERS = ("schedule", "operandSegmentSizes", "epilogue_maps", "input_zero_point", "weight_zero_point")
"""The properties that are told apart from the others, or do not count."""


def _text(attribute: Attribute) -> str:
    if isinstance(attribute, DenseArrayBase):
        return "x".join(map(str, attribute.get_values()))
    return str(attribute)


def _steps(op: ContractionOp) -> Iterator[str]:
    """The operations of the epilogue by name and type."""
    for each in op.body.walk():
        if isinstance(each, ConstantOp | YieldOp):
            continue
        mode = f"<{each.mode.mode}>" if isinstance(each, RequantizeOp) else ""
        yield f"{each.name}{mode} {','.join(str(value.type) for value in each.results)}"


def _is_known(op: ContractionOp) -> bool:
    owner = op.w.owner
    return isinstance(owner, Operation) and isinstance(owner, ConstantOp)


def kernel_identity(op: ContractionOp, isa: str, threads: int) -> str:
    """A line that is the same for contractions that one schedule fits alike, on an instruction set and so many threads.

    `op` is not packed yet.
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
"""Seconds: no loop is faster, and times are divided by each other."""


@dataclass(frozen=True)
class TunedKernel:
    """What a search found out about one kernel."""

    kernel: str
    """Its identity (`kernel_identity`)."""

    schedule: str | None
    """The schedule that is faster than that of the table, `None` where none is."""

    default: str
    """The schedule of the table."""

    seconds: float
    """The shortest time of the fastest schedule."""

    default_seconds: float
    """The shortest time of the schedule of the table."""

    tried: int
    """How many schedules were timed."""

    @staticmethod
    def of(data: JsonValue) -> "TunedKernel":
        """The entry that data holds. Raises `DiagnosticError`."""
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
        """What it is kept under."""
        return key_of(self.kernel)

    @property
    def gain(self) -> float:
        """The share of the time that the schedule saves."""
        return 0.0 if self.schedule is None else 1 - self.seconds / self.default_seconds


def key_of(identity: str) -> str:
    """What a kernel is kept under."""
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _digest(entry: Mapping[str, Any]) -> str:
    content = {name: value for name, value in entry.items() if name != _DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def tuning_text(kernels: Mapping[str, TunedKernel]) -> str:
    """The text of a file with these entries by key."""
    entries = {key: asdict(kernels[key]) for key in sorted(kernels)}
    content = {key: {**entry, _DIGEST: _digest(entry)} for key, entry in entries.items()}
    return json.dumps({"format": FORMAT, "version": VERSION, _KERNELS: content}, indent=1) + "\n"


def _entry(key: str, found: JsonValue) -> TunedKernel | None:
    """An entry as it was written, `None` for anything else."""
    try:
        made = TunedKernel.of(found)
        is_whole = found.value == {**asdict(made), _DIGEST: _digest(asdict(made))} and made.key == key
    except DiagnosticError:
        return None
    return made if is_whole else None


@dataclass(frozen=True)
class Tuning:
    """What a file has: its entries by key, and how many more it had that are damaged."""

    kernels: Mapping[str, TunedKernel]
    damaged: int = 0

    @staticmethod
    def from_text(text: str | bytes) -> "Tuning":
        """What `tuning_text` gave. Raises `DiagnosticError` for any other text."""
        data = parse_data(text, "it")
        data["format"].text([FORMAT])
        data["version"].integer(VERSION, VERSION)
        found = {key: _entry(key, entry) for key, entry in data[_KERNELS].entries().items()}
        whole = {key: entry for key, entry in found.items() if entry is not None}
        return Tuning(whole, len(found) - len(whole))

    @staticmethod
    def read(path: Path) -> "Tuning":
        """What the file at `path` has. Raises `DiagnosticError`, one line, where it cannot be read or is none."""
        try:
            text = read_regular(path)
        except OSError as error:
            raise text_error(f"cannot read the tuned schedules '{path}': {error.strerror}") from error
        try:
            return Tuning.from_text(text)
        except DiagnosticError as error:
            raise text_error(f"'{path}' does not contain tuned schedules: {error.diagnostic.message}") from error

    def digest(self) -> str:
        """A digest of the schedules that are not those of the table; empty where there is none."""
        chosen = {key: each.schedule for key, each in self.kernels.items() if each.schedule is not None}
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest() if chosen else ""
