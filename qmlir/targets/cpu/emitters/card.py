"""The card of a program, a file of JSON in its folder: what it is, what it takes and gives, its sizes and its digests.

Every form of a program has one: packages for Python, C, machine code and WebAssembly. A folder is of one program where
each file has the digest that the card says, and the card its own.
"""

# llvmlite has no types that a checker could read.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import llvmlite.binding as llvm

from qmlir.ir.diagnostics import text_error
from qmlir.targets.cpu.emitters.program import LoopProgram, MainPort
from qmlir.text.files import is_file_name, read_json, read_regular
from qmlir.text.readable import Readable
from qmlir.text.tables import bytes_text, counted

FORMAT, VERSION = "qmlir-program", 1
PROGRAM_FORM = "program"
"""The form that needs Python."""

Contents = str | bytes


class WrittenFiles(NamedTuple):
    """What a form makes of a program: its files, and the bytes of its machine code, where it has some."""

    files: Mapping[str, Contents]
    code_bytes: int | None = None


@dataclass(frozen=True)
class CardPort:
    """An input or an output: `NAME: SHAPE DTYPE`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    refuses_nan: bool = False

    @staticmethod
    def of(port: MainPort) -> "CardPort":
        """What a card says of it."""
        return CardPort(port.name, port.dtype, tuple(port.shape), port.refuses_nan)

    def text(self) -> str:
        """On one line."""
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {shape} {self.dtype}{', NaN is refused' if self.refuses_nan else ''}"


@dataclass(frozen=True, repr=False)
class ProgramCard(Readable):
    """What a program is. Sizes are in bytes."""

    name: str
    form: str
    """One of `FORMS`, or `program`, a Python package."""

    emitter: str
    target: str
    """The machine: LLVM's triple, processor and features, or `any`."""

    isa: str
    threads: int
    model: str
    """The fingerprint of the module that it computes, weights included."""

    nodes: tuple[str, ...]
    """The nodes of the model, in the order in which they run."""

    kernels: int
    arena_bytes: int
    weights_bytes: int
    stack_bytes: int
    """Of the arrays in the frames of `@main` and of a kernel; registers that are spilled come on top."""

    inputs: tuple[CardPort, ...]
    outputs: tuple[CardPort, ...]
    code_bytes: int | None = None
    """Of machine code; of C and of what numba compiles later they are not known."""

    by: str = field(default_factory=lambda: f"qmlir {version('qmlir')}")
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What its maker says of the model: values of JSON."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """The SHA-256 of each file."""

    @property
    def digest(self) -> str:
        """That of the card, and so of all files."""
        return _digest(json.dumps(asdict(self), sort_keys=True).encode())

    def json(self) -> str:
        """The content of its file."""
        return (
            json.dumps({"format": FORMAT, "version": VERSION, "digest": self.digest, **asdict(self)}, indent=1) + "\n"
        )

    def sealed(
        self, files: Mapping[str, Contents], code_bytes: int | None, about: Mapping[str, Any] | None = None
    ) -> "ProgramCard":
        """The card of these files. Raises `DiagnosticError` where `about` is not of JSON."""
        digests = {name: _digest(each.encode() if isinstance(each, str) else each) for name, each in files.items()}
        return replace(self, files=digests, code_bytes=code_bytes, about=_of_json(about or {}))

    def text(self) -> str:
        """For a reader."""
        code = "not known before it is compiled" if self.code_bytes is None else bytes_text(self.code_bytes)
        rows = [
            ("target", f"{self.target}, {self.isa}, {counted(self.threads, 'thread')}"),
            ("code", f"{code}, {counted(self.kernels, 'kernel')} of {counted(len(self.nodes), 'node')}"),
            ("weights", bytes_text(self.weights_bytes)),
            ("arena", bytes_text(self.arena_bytes)),
            ("stack", f"{bytes_text(self.stack_bytes)} of arrays, without registers"),
            *(("input", port.text()) for port in self.inputs),
            *(("output", port.text()) for port in self.outputs),
            ("model", self.model),
            *((f"  {key}", f"{found}") for key, found in self.about.items() if isinstance(found, str | int | float)),
            ("digest", self.digest),
        ]
        head = f"{self.name}: {self.form} by the emitter {self.emitter} of {self.by}"
        return "\n".join([head, *(f"  {what:<8} {found}" for what, found in rows)])


def _of_json(about: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return json.loads(json.dumps(dict(about), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise text_error(f"what a card says about a model is JSON, found {about!r:.60}: {error}") from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def code_bytes(data: bytes) -> int:
    """The bytes of machine code in an object of any machine."""
    return sum(section.size() for section in llvm.ObjectFileRef.from_data(data).sections() if section.is_text())


def card_of(
    program: LoopProgram, name: str, form: str, emitter: str, target: str, model: str = "", threads: int = 1
) -> ProgramCard:
    """The card of a program whose files are not there yet."""
    return ProgramCard(
        name, form, emitter, target, program.isa.name, threads, model,
        tuple(dict.fromkeys(node for call in program.calls for node in call.nodes)), len(program.kernels),
        program.arena_bytes, program.weights_bytes, program.scratch_bytes,
        tuple(map(CardPort.of, program.inputs)), tuple(map(CardPort.of, program.outputs)),
    )  # fmt: skip


def card_path(folder: Path) -> Path | None:
    """Where the card of a folder is; `None` where it has none."""
    if not folder.is_dir():
        return None
    return next((path for path in sorted(folder.glob("*.json")) if _content(path) is not None), None)


def _content(path: Path) -> dict[str, Any] | None:
    found = read_json(path)
    if not isinstance(found, dict):
        return None
    content = cast(dict[str, Any], found)
    return content if content.get("format") == FORMAT else None


def _ports(rows: Sequence[Mapping[str, Any]]) -> tuple[CardPort, ...]:
    return tuple(CardPort(row["name"], row["dtype"], tuple(row["shape"]), row["refuses_nan"]) for row in rows)


def read_card(folder: Path) -> ProgramCard | None:
    """The card of a folder; `None` where it has none. Raises `DiagnosticError` for one that is damaged."""
    path = card_path(folder)
    if path is None:
        return None
    content = _content(path) or {}
    if content.get("version") != VERSION:
        raise text_error(f"{path} has the version {content.get('version')}, and this qmlir reads {VERSION}")
    try:
        rows: dict[str, Any] = {each.name: content[each.name] for each in fields(ProgramCard)}
        rows.update({name: _ports(rows[name]) for name in ("inputs", "outputs")}, nodes=tuple(rows["nodes"]))
        card = ProgramCard(**rows)
        is_whole = card.digest == content["digest"] and all(map(is_file_name, _parts(card.files)))
    except (KeyError, TypeError, ValueError, AttributeError):
        is_whole = False
        card = None
    if card is None or not is_whole:
        raise text_error(f"{path} is damaged: it is not what was written with the program")
    return card


def _parts(files: Mapping[str, str]) -> list[str]:
    """The names of files and folders in the names of files."""
    return [part for name in files for part in name.split("/")]


def checked_card(folder: Path, *, without: Sequence[str] = ()) -> ProgramCard | None:
    """The card of a folder whose files are those that it names; `None` where it has none.

    Files `without` have digests of their own, which whoever reads them checks. Raises `DiagnosticError` where one is
    missing or another one.
    """
    card = read_card(folder)
    for name, digest in {} if card is None else card.files.items():
        if name in without:
            continue
        try:
            found = _digest(read_regular(folder / name))
        except OSError as error:
            raise text_error(f"{folder / name} is missing: {error.strerror or error}") from error
        if found != digest:
            raise text_error(f"{folder / name} is damaged: it is not what was written with the program")
    return card


def is_emitted(folder: Path) -> bool:
    """Whether `folder` has a program that was emitted ahead of time, and nothing else: what a user adds is kept."""
    path = card_path(folder)
    content = None if path is None else _content(path)
    if path is None or content is None or not isinstance(content.get("files"), dict):
        return False
    return {each.name for each in folder.iterdir()} <= {path.name, *content["files"]}
