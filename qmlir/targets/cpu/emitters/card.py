"""The manifest (card) of a compiled program: a JSON file with its ports, target, sizes and digests.

Every output format has one: Python packages, C, machine code and WebAssembly. A folder contains an intact program if
each file has the digest that the card lists, and the card has its own digest.
"""

# llvmlite has no type annotations.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import llvmlite.binding as llvm

from qmlir.ir.messages import DiagnosticError, printable, text_error
from qmlir.targets.cpu.choices import PARTS_FORM as PARTS_FORM
from qmlir.targets.cpu.choices import PROGRAM_FORM as PROGRAM_FORM
from qmlir.targets.cpu.runtime.machine_code import digest_of
from qmlir.targets.cpu.runtime.ports import OPEN, ArrayPort, scale_text, shape_text
from qmlir.text.data import JsonValue, plain, read_data
from qmlir.text.files import is_file_name, read_json, read_regular
from qmlir.text.tables import Readable, bytes_text, counted

if TYPE_CHECKING:
    from qmlir.targets.cpu.emitters.program import LoopProgram

FORMAT, VERSION = "qmlir-program", 2
PYTHON_FORMS = PROGRAM_FORM, PARTS_FORM

Contents = str | bytes


_SCALING = "scale", "zero_point"


class WrittenFiles(NamedTuple):
    """The files that an output format writes, and the size of the machine code in bytes if it is known."""

    files: Mapping[str, Contents]
    code_bytes: int | None = None


@dataclass(frozen=True)
class CardPort:
    """An input or an output of a program: name, NumPy type, shape, and whether NaN is rejected."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    refuses_nan: bool = False
    scale: float | None = None
    """The scale of stored integers; `None` for other elements."""

    zero_point: int = 0

    @staticmethod
    def of(port: ArrayPort) -> "CardPort":
        """Returns the card entry of an input or output."""
        return CardPort(port.name, str(port.dtype), port.shape, port.is_quantized, port.scale, port.zero_point)

    def text(self) -> str:
        """Returns the port on one line, as `NAME: SHAPE DTYPE`."""
        scale = scale_text(self.scale, self.zero_point)
        refused = ", NaN is refused" if self.refuses_nan else ""
        return f"{self.name}: {shape_text(self.shape)} {self.dtype}{scale}{refused}"

    def entry(self) -> dict[str, Any]:
        """Returns the entry of a card, which has a scale and a zero point only for stored integers."""
        found = asdict(self)
        return found if self.scale is not None else {name: found[name] for name in found if name not in _SCALING}


@dataclass(frozen=True, repr=False)
class ProgramCard(Readable):
    """The contents of a program's card. Sizes are in bytes."""

    name: str
    form: str
    """One of `FORMS`, `program` for a Python package, or `parts` for a program for several targets."""

    emitter: str
    target: str
    """The machine: LLVM's target triple, CPU and features, or `any machine`."""

    isa: str
    threads: int
    model: str
    """The fingerprint of the compiled module, weights included."""

    nodes: tuple[str, ...]
    """The nodes of the model, in execution order."""

    kernels: int
    arena_bytes: int
    weights_bytes: int
    stack_bytes: int
    """The stack arrays of `@main` and of the largest kernel; spilled registers are not counted."""

    inputs: tuple[CardPort, ...]
    outputs: tuple[CardPort, ...]
    code_bytes: int | None = None
    """The size of the machine code; unknown for C and for code that numba compiles later."""

    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The parts of a program for several targets, in order, with their targets. Compiled parts are folders."""

    by: str = field(default_factory=lambda: f"qmlir {version('qmlir')}")
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Additional facts about the model: JSON values."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The SHA-256 of each file."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the card, which includes the digests of all files."""
        return digest_of(json.dumps(self.entries(), sort_keys=True).encode())

    def entries(self) -> dict[str, Any]:
        """Returns the contents of the card, without its digest, as JSON values."""
        ports = {side: [each.entry() for each in getattr(self, side)] for side in ("inputs", "outputs")}
        return {**asdict(self), **ports}

    def json(self) -> str:
        """Returns the text of the card's file."""
        return (
            json.dumps({"format": FORMAT, "version": VERSION, "digest": self.digest, **self.entries()}, indent=1) + "\n"
        )

    def sealed(
        self, files: Mapping[str, Contents], code_bytes: int | None, about: Mapping[str, Any] | None = None
    ) -> "ProgramCard":
        """Returns this card with the digests of `files`. Raises `DiagnosticError` if `about` is not valid JSON."""
        digests = {name: digest_of(each.encode() if isinstance(each, str) else each) for name, each in files.items()}
        return replace(self, files=digests, code_bytes=code_bytes, about=_of_json(about or {}))

    def text(self) -> str:
        """Returns a readable summary, one fact per line."""
        code = "not known before it is compiled" if self.code_bytes is None else bytes_text(self.code_bytes)
        rows = [
            ("target", f"{self.target}, {self.isa}, {counted(self.threads, 'thread')}"),
            ("code", f"{code}, {counted(self.kernels, 'kernel')} of {counted(len(self.nodes), 'node')}"),
            ("weights", bytes_text(self.weights_bytes)),
            ("arena", bytes_text(self.arena_bytes)),
            ("stack", f"{bytes_text(self.stack_bytes)} of arrays, without registers"),
            *(("input", port.text()) for port in self.inputs),
            *(("output", port.text()) for port in self.outputs),
            *(("part", f"{name}: {target}") for name, target in self.parts.items()),
            ("model", self.model),
            *((f"  {key}", f"{found}") for key, found in self.about.items() if isinstance(found, str | int | float)),
            ("digest", self.digest),
        ]
        head = f"{self.name}: {self.form} by the emitter {self.emitter} of {self.by}"
        return "\n".join(map(printable, [head, *(f"  {what:<8} {found}" for what, found in rows)]))


def _of_json(about: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise text_error(f"'about' must contain JSON values, but got {about!r:.60}: {error}") from error


def code_bytes(data: bytes) -> int:
    """Returns the size of the text sections of an object file, in bytes."""
    return sum(section.size() for section in llvm.ObjectFileRef.from_data(data).sections() if section.is_text())


def with_digest(card: ProgramCard) -> Mapping[str, Any]:
    """Returns the contents of a card, including its digest, as JSON values."""
    return {**plain(card.entries()), "digest": card.digest}


def card_of(
    program: "LoopProgram", name: str, form: str, emitter: str, target: str, model: str = "", threads: int = 1
) -> ProgramCard:
    """Returns the card of a program before its files are written."""
    inputs, outputs = (tuple(CardPort.of(port.array) for port in side) for side in (program.inputs, program.outputs))
    return ProgramCard(
        name, form, emitter, target, program.isa.name, threads, model,
        tuple(dict.fromkeys(node for call in program.calls for node in call.nodes)), len(program.kernels),
        program.arena_bytes, program.weights_bytes, program.scratch_bytes, inputs, outputs,
    )  # fmt: skip


def card_paths(folder: Path) -> list[Path]:
    """Returns the paths of the card files in a folder: one per program."""
    return [path for path in sorted(folder.glob("*.json")) if _content(path) is not None] if folder.is_dir() else []


def _content(path: Path) -> dict[str, Any] | None:
    found = read_json(path)
    if not isinstance(found, dict):
        return None
    content = cast(dict[str, Any], found)
    return content if content.get("format") == FORMAT else None


def named_form(path: Path) -> str:
    """Returns the form named in a card file, even if the card is damaged; empty if it names none."""
    form = (_content(path) or {}).get("form")
    return form if isinstance(form, str) else ""


def _port(data: JsonValue) -> CardPort:
    shape = tuple(each.integer(min(OPEN, 0)) for each in data["shape"])
    if any(size < 0 and size != OPEN for size in shape):
        data["shape"].wrong(f"sizes >= 0, or {OPEN} for an open one")
    scale = None if data.get("scale") is None else data["scale"].number()
    zero_point = 0 if scale is None else data["zero_point"].integer()
    return CardPort(data["name"].text(), data["dtype"].text(), shape, data["refuses_nan"].boolean(), scale, zero_point)


def _by_name(data: JsonValue) -> dict[str, str]:
    """Returns texts by names of files and folders next to the card; `a/b` names a file of part `a`."""
    found = {name: each.text() for name, each in data.entries().items()}
    if not all(is_file_name(part) for name in found for part in name.split("/")):
        data.wrong("an object whose keys name files beside it")
    return found


def _damaged(path: Path) -> DiagnosticError:
    return text_error(f"{path} is damaged: it differs from the file written with the program; compile the model again")


def read_card(path: Path) -> ProgramCard:
    """Reads the card in a file. Raises `DiagnosticError` if it is damaged or has another version."""
    try:
        data = read_data(path, allow_nonfinite=True)
        data["format"].text([FORMAT])
        version = data["version"].value
        card = _card_of(data) if version == VERSION else None
    except DiagnosticError as error:
        raise _damaged(path) from error
    if card is None:
        raise text_error(
            f"{path} has version {version!r:.20}, but this qmlir supports {VERSION}; compile the model again"
        )
    if card.digest != data["digest"].value:
        raise _damaged(path)
    return card


def _card_of(data: JsonValue) -> ProgramCard:
    code, parts = data["code_bytes"], _by_name(data["parts"])
    if any("/" in name for name in parts):
        data["parts"].wrong("an object whose keys name folders beside it")
    texts: dict[str, Any] = {
        name: data[name].text() for name in ("name", "form", "emitter", "target", "isa", "model", "by")
    }
    numbers: dict[str, Any] = {
        name: data[name].integer(0) for name in ("threads", "kernels", "arena_bytes", "weights_bytes", "stack_bytes")
    }
    return ProgramCard(
        **texts,
        **numbers,
        nodes=tuple(each.text() for each in data["nodes"]),
        inputs=tuple(map(_port, data["inputs"])),
        outputs=tuple(map(_port, data["outputs"])),
        code_bytes=None if code.value is None else code.integer(0),
        parts=parts,
        about={name: each.value for name, each in data["about"].entries().items()},
        files=_by_name(data["files"]),
    )


def checked_card(path: Path) -> ProgramCard:
    """Reads the card in a file and checks the files that it lists.

    Raises `DiagnosticError` if a file is missing or has another digest.
    """
    card = read_card(path)
    for name, digest in card.files.items():
        checked_file(path.parent / name, digest)
    return card


def checked_file(path: Path, digest: str) -> bytes:
    """Returns the bytes of a file. Raises `DiagnosticError` if it is missing or has another digest."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise text_error(f"{path} is missing: {error.strerror or error}") from error
    if digest_of(data) != digest:
        raise _damaged(path)
    return data
