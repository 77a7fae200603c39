"""Hostile values: each string, key and number of each file that is read, one at a time, becomes a value that would do
harm if it were taken for code, for a path, or for text that is parsed.

A number determines a place of a format and a value, as it does a damaged file (`Kind.damaged`). Around what a command
reads lie files that it has no business with; `read` compares them, and the inputs, before and after. Nothing may differ
but the output that the command names.
"""

import hashlib
import io
import json
import os
import re
import stat
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import zip_longest
from pathlib import Path
from shutil import copy2, copytree, rmtree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto
from safetensors.numpy import load, save

from qmlir.text.toml import toml_key, toml_value
from qmlir.tools import qmlir_cli, qmlir_opt
from tests.fuzz.frame import Kind, Outcome, run_tool

MARK = "HOSTILE"
"""Stands in every value that is code."""

_SANDBOX = TemporaryDirectory(prefix="qmlir-hostile-")
ROOT = Path(_SANDBOX.name)
"""Nothing in it may change. The path is the same for all children of a process, so that values may name it."""

OUTPUT = "out"
"""The only name in the folder of a command that it may write."""

_VICTIM = ROOT / "victim.txt"
_HERE = "../" * 16 + str(ROOT).lstrip("/")

TEXTS: Mapping[str, str] = {
    "pipeline": f'softmax}},kernel-plan-memory{{plan_file="{_VICTIM}"}},nn-decompose{{keep=gelu',
    "pipeline, quoted": f'a"}},kernel-plan-memory{{plan_file="{_VICTIM}"}},cse,nn-decompose{{keep="b',
    "pipeline of one pass": f"kernel-plan-memory{{plan_file={_VICTIM}}}",
    "absolute path": str(_VICTIM),
    "path upwards": f"{_HERE}/victim.txt",
    "path of a module": f"{ROOT}/victim",
    "link": "link.txt",
    "link to a folder": "folder/inner.txt",
    "device": "/dev/full",
    "pipe": "pipe",
    "folder": str(ROOT),
    "quotes": "\"'`\\",
    "NUL": f"a\0{_VICTIM}",
    "lines": f'a\n\n[[rule]]\nquantize = false\n\r\n"{MARK}" = 1\n',
    "long": "n" * 100_000,
    "bidi": "\u202etxt.exe\u2066\u2028\x1b]0;x\x07",
    "format": "%s%n%1000000d{0.__class__.__init__.__globals__}{}$HOME ${HOME} ~ %PATH%",
    "JSON": f'", "output": "{_VICTIM}", "x": "',
    "shell": f"$(touch {ROOT}/{MARK})`touch {ROOT}/{MARK}`; touch {ROOT}/{MARK} #| touch {ROOT}/{MARK} &",
    "Python": f"\"\"\"\n'''\n);__import__('os').system('touch {ROOT}/{MARK}')\n#",
    "MLIR": f'"}} loc("{_VICTIM}") : () -> ()\n}} func.func private @{MARK}() {{ // <%0 = "',
    "HTML": f"</script></title><script>{MARK}()</script><img src=x onerror={MARK}()>",
    "C": f'*/ int {MARK}; /* \\\n" ; int {MARK}_2; ??/\n#include "{_VICTIM}"\n',
    "glob": "[" * 50 + "*" * 200 + "?!",
    "empty": "",
}
"""Strings by what takes them for its own."""

OTHERS: Mapping[str, Any] = {
    "not a number": float("nan"), "infinity": float("-inf"), "huge": 10**40, "negative": -1, "true": True, "null": None,
    "list": [["x"]], "table": {"x": {"y": "z"}},
}  # fmt: skip
"""Values of other types, for formats that have types."""

VALUES = (*TEXTS.items(), *OTHERS.items())


@dataclass(frozen=True)
class Place:
    """A place of a file: what it is, and the file with another value there; `None` where it cannot hold that value."""

    name: str
    changed: Callable[[Any], bytes | None]
    is_text: bool = True
    """Otherwise it holds a number: only values of other types go there, and a few texts."""


@dataclass(frozen=True, eq=False)
class Format:
    """A format: the file that is changed, and the commands that read it, which take turns."""

    name: str
    file: str
    positions: Callable[[bytes], Sequence[Place]]
    commands: Sequence[Callable[[], Outcome]]
    writes: str = OUTPUT
    """What the commands may write besides: the name with which a path of theirs begins."""


def _shape(node: Any) -> Any:
    """What a record holds: of records that are alike one is enough."""
    return tuple(sorted(node)) if isinstance(node, dict) else object()


def _tree_places(tree: Any, written: Callable[[Any], bytes | None]) -> Iterator[Place]:
    """The keys and the leaves of a tree of JSON or TOML; of alike records and of numbers the first."""

    def inside(node: Any, path: str, put: Callable[[Any], Any]) -> Iterator[Place]:
        if isinstance(node, dict):
            alike = len({_shape(value) for value in node.values()}) == 1
            for number, (key, value) in enumerate(node.items()):
                rest = {name: each for name, each in node.items() if name != key}
                yield Place(
                    f"{path}.{key}:",
                    lambda new, key=key: (
                        written(put({new if name == key else name: each for name, each in node.items()}))
                        if isinstance(new, str)
                        else None
                    ),
                )
                if number == 0 or not alike:
                    yield from inside(value, f"{path}.{key}", lambda new, key=key, rest=rest: put({**rest, key: new}))
        elif isinstance(node, list) and node:
            count = len(node) if any(isinstance(each, dict | list | str) for each in node) else 1
            for position in range(min(count, 4)):
                yield from inside(
                    node[position],
                    f"{path}[{position}]",
                    lambda new, position=position: put([*node[:position], new, *node[position + 1 :]]),
                )
        else:
            yield Place(path, lambda new: written(put(new)), is_text=isinstance(node, str))

    yield from inside(tree, "", lambda new: new)


def _json_places(data: bytes) -> Sequence[Place]:
    return list(_tree_places(json.loads(data), lambda tree: json.dumps(tree).encode()))


def _toml_places(data: bytes, tables: Sequence[str] = ("",)) -> Sequence[Place]:
    """Those in `tables`, or all of them."""

    def written(tree: Any) -> bytes | None:
        return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in tree.items()).encode()

    found = _tree_places(tomllib.loads(data.decode()), written)
    return [position for position in found if position.name.startswith(tuple(f".{table}" for table in tables))]


def _safetensors_places(data: bytes) -> Sequence[Place]:
    size = 8 + int.from_bytes(data[:8], "little")

    def written(tree: Any) -> bytes:
        header = json.dumps(tree).encode()
        return len(header).to_bytes(8, "little") + header + data[size:]

    return list(_tree_places(json.loads(data[8:size]), written))


def _part_places(data: bytes) -> Sequence[Place]:
    """An answer of a job that is kept (`--resume`): the JSON in it; its digest is that of the new content."""
    head, _, content = data.partition(b"\n")
    format_, _, _ = head.partition(b" ")
    arrays = load(content)

    def written(tree: Any) -> bytes:
        made = save({**arrays, "told": np.frombuffer(json.dumps(tree).encode(), np.uint8)})
        return format_ + b" " + hashlib.sha256(made).hexdigest().encode() + b"\n" + made

    return list(_tree_places(json.loads(arrays["told"].tobytes()), written))


def _archive_places(data: bytes) -> Sequence[Place]:
    """The names of the members of an `.npz`, and what JSON one of them holds."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def archived(content: Mapping[str, bytes]) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, each in content.items():
                archive.writestr(name[:60_000].replace("\0", ""), each)
        return stream.getvalue()

    def renamed(old: str, new: Any) -> bytes | None:
        if not isinstance(new, str):
            return None
        return archived({f"{new}.npy" if name == old else name: each for name, each in members.items()})

    def told(tree: Any) -> bytes:
        stream = io.BytesIO()
        np.save(stream, np.frombuffer(json.dumps(tree).encode(), np.uint8))
        return archived({**members, "about.npy": stream.getvalue()})

    found = [Place(name, lambda new, name=name: renamed(name, new)) for name in members]
    if "about.npy" in members:
        found += _tree_places(json.loads(bytes(np.load(io.BytesIO(members["about.npy"])))), told)
    return found


_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|@[\w.$-]+')


def _module_places(data: bytes) -> Sequence[Place]:
    """The strings and symbols of a module; the string of a value is escaped, or as it is, in turns of the places."""
    text = data.decode()

    def changed(position: int, match: re.Match[str], new: Any) -> bytes | None:
        if not isinstance(new, str):
            return None
        at = "@" if match[0].startswith("@") else ""
        inner = "".join(f"\\{byte:02X}" for byte in new.encode()) if position % 2 == 0 else new
        return f'{text[: match.start()]}{at}"{inner}"{text[match.end() :]}'.encode()

    matches = list(_STRING.finditer(text))
    return [
        Place(match[0], lambda new, at=position + turn, match=match: changed(at, match, new))
        for turn in range(2)
        for position, match in enumerate(matches)
    ]


def _message_places(data: bytes) -> Sequence[Place]:
    """The strings of an ONNX model: names, documentation, kinds, domains, metadata, attributes."""

    def strings(message: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        for field, value in message.ListFields():
            several = hasattr(value, "append") or hasattr(value, "add")
            for position, each in enumerate(value) if several else ((None, value),):
                where = (*path, (field.name, position))
                if field.message_type is not None:
                    yield from strings(each, where)
                elif isinstance(each, str) or (isinstance(message, AttributeProto) and isinstance(each, bytes)):
                    yield where, each

    def changed(path: tuple[Any, ...], new: Any) -> bytes | None:
        if not isinstance(new, str):
            return None
        model = ModelProto.FromString(data)
        message: Any = model
        for name, position in path[:-1]:
            message = getattr(message, name) if position is None else getattr(message, name)[position]
        name, position = path[-1]
        is_bytes = isinstance(getattr(message, name) if position is None else getattr(message, name)[position], bytes)
        value = new.encode() if is_bytes else new
        if position is None:
            setattr(message, name, value)
        else:
            getattr(message, name)[position] = value
        return model.SerializeToString()

    found = list(strings(ModelProto.FromString(data), ()))
    return [Place(str(path), lambda new, path=path: changed(path, new)) for path, _ in found]


# Sound inputs

_MODEL = """
func.func @main(%x: tensor<2x4xf32> {nn.name = "x", nn.dims = ["N", ""]})
    -> (tensor<2x2xf32> {nn.name = "y", nn.dims = ["N", ""]}) {
  %w = nn.constant dense<[[0.5, 1.5, -1.0], [1.0, -0.5, 0.25], [0.75, 0.5, 2.0], [-1.0, 0.5, 1.0]]> : tensor<4x3xf32>
    {origin = "w"}
  %b = nn.constant dense<[0.25, 0.5, -0.25]> : tensor<3xf32> {origin = "b"}
  %v = nn.constant dense<[[1.0, -2.0], [0.5, 1.0], [-1.5, 0.25]]> : tensor<3x2xf32> {origin = "v"}
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32> {origin = "fc", op_type = "MatMul"}
  %1 = nn.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> {origin = "bias", op_type = "Add"}
  %2 = nn.relu %1 : tensor<2x3xf32> {origin = "act", op_type = "Relu"}
  %y = nn.matmul %2, %v : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32> {origin = "head", op_type = "MatMul"}
  func.return %y : tensor<2x2xf32>
}
"""

_PLANNED = """
func.func private @neg(%x: memref<4xi8>, %y: memref<4xi8> {kernel.may_overwrite = array<i64: 0>}) {
  func.return
}
func.func @planned(%x: memref<4xi8>, %y: memref<4xi8> {nn.result}) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<4xi8>
  func.call @neg(%x, %0) : (memref<4xi8>, memref<4xi8>) -> ()
  func.call @neg(%0, %y) : (memref<4xi8>, memref<4xi8>) -> ()
  func.return
}
"""
"""What `kernel-plan-memory` draws, wherever a hostile text brings it to run."""

_PATTERN = """
pdl.pattern @relu_of_relu : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %inner = pdl.operation "nn.relu" (%x : !pdl.value) -> (%type : !pdl.type)
  %value = pdl.result 0 of %inner
  %outer = pdl.operation "nn.relu" (%value : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %outer {
    pdl.replace %outer with(%value : !pdl.value)
  }
}
"""

_RECIPE = """
effort = 0
[[rule]]
node = "fc"
slot = "weight"
storage = "i8"
scheme = "symmetric"
granularity = "channel"
calibrator = { name = "percentile", percent = 99.0 }
repair = "none"
[[rule]]
origin = "act"
role = "*"
op = "relu"
quantize = false
"""

_CONFIGURATION = """
[common]
threads = 1
quiet = true
data = "d.npz"
[quantize]
output = "out"
weights = "i8"
keep-composites = "gelu,softmax"
exclude = ["act"]
accumulator = "i32"
activations = "i8"
scheme = "asymmetric"
weight-scheme = "symmetric"
granularity = "channel"
calibrator = "min_max"
requantize = "f32"
recipe = "recipe.toml"
state = []
no-validate = true
shape = ["x=2x4"]
[profile]
output = "out.json"
axis = 1
function = "main"
[compile]
output = "out"
isa = "generic"
[report]
output = "out.html"
title = "t"
no-time = true
[export]
output = "out.onnx"
"""


def _run(*words: str) -> Outcome:
    return run_tool(qmlir_cli.main, words)


def _made(*words: str) -> None:
    outcome = _run(*words)
    if outcome.code:
        raise RuntimeError(outcome.said)


@cache
def inputs() -> Path:
    """A folder with a sound file of each format, but those of `costly`."""
    folder = ROOT / "inputs"
    folder.mkdir()
    _VICTIM.write_text("numpy\n")
    for name in ("victim.mlir", "victim.safetensors", "victim.json", "victim.svg"):
        (ROOT / name).write_text("mine\n")
    (ROOT / "folder").mkdir()
    (ROOT / "folder" / "inner.txt").write_text("mine\n")
    with chdir(folder):
        Path("link.txt").symlink_to(_VICTIM)
        Path("folder").symlink_to(ROOT / "folder")
        os.mkfifo("pipe")
        Path("m.mlir").write_text(_MODEL)
        Path("planned.mlir").write_text(_MODEL + _PLANNED)
        Path("patterns.mlir").write_text(_PATTERN)
        Path("recipe.toml").write_text(_RECIPE)
        Path("options.toml").write_text(_CONFIGURATION)
        np.savez("d.npz", x=np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
        np.save("x.npy", np.ones((2, 4), np.float32))
        _made("quantize", "planned.mlir", "--data", "d.npz", "-o", "q", "--quiet", "--no-validate")
        _made("export", "m.mlir", "-o", "m.onnx", "--quiet")
        _made("compile", "m.mlir", "-o", "emitted", "--emit", "c", "--quiet")
        _made("profile", "m.mlir", "--data", "d.npz", "--resume", "kept", "-o", "p.json", "--quiet")
        model = onnx.load("m.onnx")
        onnx.helper.set_model_props(model, {"author": "someone", "qmlir.note": "text"})
        model.doc_string = model.graph.doc_string = model.graph.node[0].doc_string = "a model"
        onnx.save(model, "m.onnx")
    return folder


@cache
def costly() -> Path:
    """The same folder, with what takes a compiler."""
    with chdir(inputs()):
        _made("compile", "m.mlir", "-o", "program", "--isa", "generic", "--quiet")
        _made(*_FINETUNE, "-o", "trained.mlir", "--epochs", "1")
    return inputs()


_FINETUNE = ("finetune", "m.mlir", "--data", "d.npz", "--checkpoint", "state.npz", "--quiet", "--batch-size", "4")


_TO = ("-o", OUTPUT, "--no-validate")


def _opt(*words: str) -> Outcome:
    return run_tool(qmlir_opt.main, words)


def _explain() -> Outcome:
    return _run("explain", "q", "fc")


def _compare() -> Outcome:
    return _run("compare", "q", "--data", "d.npz")


def _quantize(*words: str) -> Callable[[], Outcome]:
    return lambda: _run("quantize", *words, "--data", "d.npz", *_TO)


_OF_FOLDER = (
    _explain, _compare, lambda: _run("inspect", "q", "--json"),
    lambda: _run("report", "q", "--data", "d.npz", "--no-time", "-o", f"{OUTPUT}.html"),
    lambda: _run("search", "q", "--data", "d.npz", "--min-accuracy", "1", "--max-steps", "0", "-o", OUTPUT),
)  # fmt: skip
_OF_MODEL = (
    lambda model: _run("inspect", model, "--json"),
    lambda model: _quantize(model)(),
    lambda model: _run("compile", model, "-o", OUTPUT, "--emit", "c"),
    lambda model: _run("export", model, "-o", f"{OUTPUT}.onnx"),
    lambda model: _run("profile", model, "--data", "d.npz", "-o", f"{OUTPUT}.mlir"),
    lambda model: _run("run", model, "--input", "x.npy", "-o", f"{OUTPUT}.npz"),
)


_CONFIGURED = {"quantize": "planned.mlir", "profile": "m.mlir", "compile": "m.mlir", "report": "q", "export": "m.mlir"}
"""The model that a command with a configuration reads."""


def _configurations() -> Iterator[Format]:
    """A configuration as each command reads it. The output that a configuration names is as that of a command line."""
    for command, model in _CONFIGURED.items():
        positions = partial(_toml_places, tables=("common", command))
        words = (command, model, "--config", "options.toml", "-o", f"{OUTPUT}{_SUFFIXES.get(command, '')}")
        yield Format(f"configuration of {command}", "options.toml", positions, [partial(_run, *words)])


_SUFFIXES = {"profile": ".json", "report": ".html", "export": ".onnx"}


def formats() -> list[Format]:
    """The formats whose files take no compiler."""
    folder = inputs()
    found = [
        Format("recipe", "recipe.toml", _toml_places, [_quantize("planned.mlir", "--recipe", "recipe.toml")]),
        *_configurations(),
        Format("recipe of a folder", "q/recipe.toml", _toml_places, _OF_FOLDER),
        Format("summary", "q/summary.json", _json_places, _OF_FOLDER),
        Format("profile of a folder", "q/profile.json", _json_places, _OF_FOLDER),
        *(Format(path.name, f"q/{path.name}", _module_places, _OF_FOLDER) for path in sorted(folder.glob("q/*.mlir"))),
        Format("profile", "p.json", _json_places, [partial(_run, "quantize", "m.mlir", "--profile", "p.json", *_TO)]),
        Format("card", "emitted/model.json", _json_places, [lambda: _run("inspect", "emitted", "--json")]),
        Format("module", "m.mlir", _module_places, [partial(command, "m.mlir") for command in _OF_MODEL]),
        Format("ONNX", "m.onnx", _message_places, [partial(command, "m.onnx") for command in _OF_MODEL]),
        Format("patterns", "patterns.mlir", _module_places, [lambda: _opt("m.mlir", "--pdl-file", "patterns.mlir")]),
        Format(
            "samples", "d.npz", _archive_places,
            [_quantize("m.mlir"), lambda: _run("profile", "m.mlir", "--data", "d.npz", "-o", f"{OUTPUT}.json")],
        ),
    ]  # fmt: skip
    kept = max(folder.glob("kept/*.part"), key=lambda path: path.stat().st_size)
    words = ("profile", "m.mlir", "--data", "d.npz", "--resume", "kept", "-o", f"{OUTPUT}.json")
    return [
        *found,
        Format("kept answers", str(kept.relative_to(folder)), _part_places, [partial(_run, *words)], "kept"),
    ]


def costly_formats() -> list[Format]:
    """The formats whose files take a compiler: parts of programs that are data, and checkpoints."""
    folder = costly()
    program = [partial(_run, "run", "program", "--input", "x.npy"), partial(_run, "inspect", "program", "--json")]
    training = partial(_run, *_FINETUNE, "-o", f"{OUTPUT}.mlir", "--epochs", "1")
    return [
        *(Format(path.name, f"program/{path.name}", _json_places, program) for path in folder.glob("program/*.json")),
        Format("constants", "program/constants.safetensors", _safetensors_places, program),
        Format("checkpoint", "state.npz", _archive_places, [training], "state"),
    ]


# What is done with them


@dataclass(frozen=True)
class Case:
    """A value for a place of a file, and the command that reads it."""

    format_: Format
    position: Place
    value: tuple[str, Any]
    command: Callable[[], Outcome]

    def __str__(self) -> str:
        return f"{self.format_.name}: {self.value[0]} at {self.position.name}"


def _cases_of(format_: Format) -> Iterator[Case]:
    """Each place of a format with each value that it can hold, in a random order that is always the same."""
    positions = format_.positions((inputs() / format_.file).read_bytes())
    fitting = {True: VALUES, False: (*OTHERS.items(), *((name, TEXTS[name]) for name in ("pipeline", "absolute path")))}
    pairs = [(position, value) for position in positions for value in fitting[position.is_text]]
    pairs = [(position, value) for position, value in pairs if position.changed(value[1]) is not None]
    for turn, number in enumerate(np.random.default_rng(0).permutation(len(pairs))):
        yield Case(format_, *pairs[int(number)], format_.commands[turn % len(format_.commands)])


@dataclass(frozen=True, eq=False)
class Hostile(Kind):
    """Cases by their numbers: a child is given a number, and writes the file itself."""

    formats: Callable[[], Sequence[Format]]

    @cached_property
    def cases(self) -> Sequence[Case]:
        """Those of all formats, which take turns."""
        return [case for turn in zip_longest(*map(_cases_of, self.formats())) for case in turn if case is not None]

    def damaged(self, seed: int, number: int) -> tuple[str, bytes]:
        """The case, and what a child reads: the number."""
        return str(self.cases[number % len(self.cases)]), str(number % len(self.cases)).encode()


def hostile(name: str, of: Callable[[], Sequence[Format]]) -> Hostile:
    """The cases of some formats as damaged files."""

    def whole() -> Mapping[str, bytes]:
        """What is made and imported once, before the process forks. Sound files are accepted."""
        for command in {id(each): each for format_ in of() for each in format_.commands}.values():
            with TemporaryDirectory() as folder, chdir(folder):
                _copied(inputs(), Path(folder))
                outcome = command()
                assert outcome.code == 0, outcome.said
        return {name: str(len(kind.cases)).encode()}

    def read(path: Path) -> Outcome:
        return _read(kind.cases[int(path.read_bytes())], path)

    kind = Hostile(name, "", whole, lambda *_: b"", read, of)
    return kind


def _copied(source: Path, target: Path) -> None:
    """A copy of the inputs, with links and pipes as they are."""
    for path in source.iterdir():
        if path.is_fifo():
            os.mkfifo(target / path.name)
        elif path.is_dir() and not path.is_symlink():
            copytree(path, target / path.name, symlinks=True)
        else:
            copy2(path, target / path.name, follow_symlinks=False)


def _snapshot(folder: Path, writes: str) -> dict[str, tuple[Any, ...]]:
    """All that lies in the sandbox and in `folder`, except the output."""
    found: dict[str, tuple[Any, ...]] = {}
    for root in (ROOT, folder):
        for path in root.rglob("*"):
            if root == folder and path.relative_to(root).parts[0].lstrip(".").startswith((OUTPUT, writes)):
                continue
            about, content = path.lstat(), b""
            if stat.S_ISREG(about.st_mode):
                content = hashlib.sha256(path.read_bytes()).digest()
            elif stat.S_ISLNK(about.st_mode):
                content = os.readlink(path).encode()
            is_folder = stat.S_ISDIR(about.st_mode)
            time = 0 if is_folder else about.st_mtime_ns  # that of a folder changes while a file is written aside
            found[str(path)] = (about.st_mode, about.st_ino, time, content)
    return found


def _read(case: Case, path: Path) -> Outcome:
    """Run the command of a case, and hold all files against what they were. Raises `AssertionError`."""
    folder = path.with_name("work")
    rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _copied(inputs(), folder)
    content = case.position.changed(case.value[1])
    assert content is not None
    (folder / case.format_.file).write_bytes(content)
    before = _snapshot(folder, case.format_.writes)
    with chdir(folder):
        outcome = case.command()
    after = _snapshot(folder, case.format_.writes)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    assert not changed, f"changed: {changed}"
    assert ("error:" in outcome.said) == bool(outcome.code), outcome.said
    return outcome


HOSTILE = hostile("hostile", formats)
HOSTILE_PROGRAMS = hostile("hostile_programs", costly_formats)
"""Apart, since its files take a compiler."""
