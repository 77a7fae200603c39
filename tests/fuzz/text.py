"""Modules as text: the functions of the FileCheck files, token by token, and the passes that their files run.

Most tokens that change become another of their kind, so that more than the parser is reached. The first line of a seed
says who reads it: the pipeline of its file's RUN line, or the interpreter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np

from qmlir.extensions.lsp.document import Document
from qmlir.pipelines import COMPILE
from qmlir.text.sources import split_source
from qmlir.tools import qmlir_cli, qmlir_opt
from tests.fuzz.damage import damage_bytes
from tests.fuzz.frame import Kind, Outcome, run_reader, run_tool

_FILES = Path(__file__).parents[1] / "filecheck"
_TOP = re.compile(r"^(?=[#!]\w|\"?[a-z]\w*\.)", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//(?! -----).*\n", re.MULTILINE)
_PIPELINE = re.compile(r"-p ('[^'%]*'|\"[^\"%]*\"|[^\s'\"%]+)")
_RUNS = "run"

_KINDS = {
    "type": rb"!?\w*<(?:[?\dx]+x)?[!\w.]+>|\b(?:[su]?i\d+|bf16|f\d+|index|none)\b",
    "value": rb"%[\w#]+",
    "block": rb"\^\w+",
    "symbol": rb"@\w+",
    "alias": rb"[#!]\w+",
    "number": rb"-?\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+(?:e[-+]?\d+)?)?)",
    "string": rb'"[^"\n]*"',
    "operation": rb"\b[a-z]\w*(?:\.\w+)+",
    "word": rb"[A-Za-z_]\w*",
    "mark": rb"->|::|[^\s\w]",
}
_TOKEN = re.compile(b"|".join(b"(?P<%s>%s)" % (name.encode(), pattern) for name, pattern in _KINDS.items()))
_EXTREMES: Mapping[str, Sequence[bytes]] = {
    "number": rb"""0 -1 1 2 255 -128 65536 2147483647 2147483648 -9223372036854775808 9223372036854775807
        9223372036854775808 18446744073709551616 99999999999999999999999999 1099511627776 0x7FC00000 0xFFFFFFFFFFFFFFFFF
        1.0e400 -0.0 1.0e-320 true unit []""".split(),
    "type": rb"""i0 i1 i4 si4 ui8 i64 i65 i16777215 i16777216 f16 f64 f80 f8E4M3FN complex<f32> index none tensor<*xf32>
        tensor<f32> tensor<0xf32> tensor<?x?xi8> tensor<1099511627776xi8> tensor<4294967296x4294967296xf32>
        vector<4xf32> vector<[4]xf32> memref<?xi8> memref<4x4xf32,strided<[1,?],offset:?>> tuple<i8,f32> (i8)->i8
        !quant.uniform<i8:f32,0.5:-3> !quant.uniform<u1:f32,0.0> !quant.uniform<i8:f32:0,{1.0,2.0}>
        !quant.calibrated<f32<-1.0:1.0>> !quant.any<i8:f32>""".split(),
    "string": rb'"" "\00" "\FF" "\22" "\C3\A9" "relu" "../../x" "main" "0x00"'.split(),
}  # fmt: skip
_EXTREMES_OF_ALL = (
    rb"{ } ( ) [ ] < > , : = -> ? * \" // unit true dense<1> dense<[]> dense<[1,2]> array<i64:1> array<i8:300> {a=1}"
    rb" affine_map<(d0)->(d0)> affine_map<(d0)->(d0floordiv0)> loc(unknown) @main::@x dense_resource<a> strided<[1]> "
    rb"[[[[1]]]] \xff \xe2\x80\xae"
).split()


def _functions(text: str) -> Iterator[str]:
    """What stands at the top of a file, one by one, each with the aliases of the file."""
    starts = [found.start() for found in _TOP.finditer(text)] or [0]
    parts = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True) if text[start:stop]]
    aliases = "".join(part for part in parts if part[0] in "#!")
    for part in parts:
        if part[0] not in "#!":
            yield aliases + part


def _whole() -> Mapping[str, bytes]:
    # What passes and the interpreter import, children shall find.
    for arguments in (["-", "-p", COMPILE.own_text(isa="avx2", threads=1)], ["-", "--verify-each=exec"]):
        run_tool(qmlir_opt.main, arguments)
    found: dict[str, bytes] = {}
    for path in sorted(_FILES.rglob("*.mlir")):
        source = path.read_text(encoding="utf-8")
        pipelines = [each.strip("'\"") for each in _PIPELINE.findall(source)]
        reader = _RUNS if "RUN: qmlir run" in source else next(iter(pipelines), "")
        for chunk in split_source(source):
            for part in _functions(_COMMENT.sub("", chunk.text)):
                if part.strip() and len(part) < 6000:
                    found[f"{path.relative_to(_FILES)}:{len(found)}"] = f"// {reader}\n{part}".encode()
    return found


def _kind_of(found: re.Match[bytes]) -> str:
    assert found.lastgroup is not None
    return found.lastgroup


@cache
def _vocabulary(others: tuple[bytes, ...]) -> Mapping[str, Sequence[bytes]]:
    """The tokens of all files, each once, by kind."""
    words: dict[str, dict[bytes, None]] = {kind: {} for kind in _KINDS}
    for other in others:
        for found in _TOKEN.finditer(other.partition(b"\n")[2]):
            words[_kind_of(found)][found[0]] = None
    return {kind: list(each) for kind, each in words.items()}


def _pick(rng: np.random.Generator, among: Sequence[bytes]) -> bytes:
    return among[int(rng.integers(len(among)))]


def _exchanged(rng: np.random.Generator, token: re.Match[bytes], others: tuple[bytes, ...]) -> bytes:
    """What stands in the place of a token: another of its kind, or none of it."""
    kind, words = _kind_of(token), _vocabulary(others)
    match int(rng.integers(10)):
        case 0:
            return b""
        case 1:
            return token[0] + b" " + token[0]
        case 2:
            return _pick(rng, _EXTREMES_OF_ALL)
        case 3 | 4 | 5:
            return _pick(rng, _EXTREMES.get(kind) or words[kind])
        case 6:
            return _pick(rng, words[_pick(rng, [name.encode() for name in _KINDS]).decode()] or words[kind])
        case _:
            return _pick(rng, words[kind])


def _change(rng: np.random.Generator, text: bytes, others: tuple[bytes, ...]) -> bytes:
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return text
    token = tokens[int(rng.integers(len(tokens)))]
    start, stop = token.span()
    match int(rng.integers(16)):
        case 0:  # two tokens of the module change places
            other = tokens[int(rng.integers(len(tokens)))]
            first, second = sorted((token, other), key=lambda each: each.start())
            if first.end() > second.start():
                return text
            between = text[first.end() : second.start()]
            return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]
        case 1:  # a line is gone, stands twice, or is another file's
            lines = text.splitlines(keepends=True)
            position = int(rng.integers(len(lines)))
            foreign = _pick(rng, others).partition(b"\n")[2].splitlines(keepends=True)
            lines[position : position + 1] = [
                [],
                [lines[position]] * 2,
                [lines[position], _pick(rng, foreign or [b""])],
            ][int(rng.integers(3))]
            return b"".join(lines)
        case 2:  # deep
            depth = int(rng.choice([2, 30, 3000]))
            opening, closing = [(b"[", b"]"), (b"tuple<", b">"), (b"(", b")"), (b"module {", b"}")][
                int(rng.integers(4))
            ]
            return text[:start] + opening * depth + token[0] + closing * depth + text[stop:]
        case 3:
            return damage_bytes(rng, text, others)
        case _:
            return text[:start] + _exchanged(rng, token, others) + text[stop:]


def _damage(rng: np.random.Generator, data: bytes, others: Sequence[bytes]) -> bytes:
    first, _, text = data.partition(b"\n")
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        text = _change(rng, text, tuple(others))
    return first + b"\n" + text


def _read(path: Path) -> Outcome:
    """As the first line says; or by general passes, by those of the compiler, or as they run before and after."""
    data = path.read_bytes()
    first = data.partition(b"\n")[0].decode().removeprefix("// ")
    if first == _RUNS:
        return run_tool(qmlir_cli.main, ["run", str(path)])
    match crc32(data) % 8:
        case 0:
            stages = [stage.name for stage in COMPILE.stages][: 1 + crc32(data) // 8 % len(COMPILE.stages)]
            pipeline = COMPILE.own_text(*stages, isa="avx2", threads=1)
        case 1:
            return run_tool(
                qmlir_opt.main, [str(path), "-p", "canonicalize,cse", "--verify-each=exec", "--exec-function", "*"]
            )
        case 2:
            return run_tool(qmlir_opt.main, [str(path), "--verify-roundtrip"])
        case 3:
            pipeline = "canonicalize,cse"
        case _:
            pipeline = first
    return run_tool(qmlir_opt.main, [str(path), "-p", pipeline])


TEXT = Kind("text", ".mlir", _whole, _damage, _read)


def _patterns() -> Mapping[str, bytes]:
    """The functions and patterns of one file each, as text that holds both."""
    found: dict[str, bytes] = {}
    for path in (_FILES / "extensions" / "pdl").glob("apply_pdl_in_module.mlir"):
        for chunk in split_source(_COMMENT.sub("", path.read_text(encoding="utf-8"))):
            found[f"{path.name}:{len(found)}"] = f"// apply-pdl\n{chunk.text}".encode()
    return found


def _read_document(path: Path) -> Outcome:
    """As an editor sends it: diagnostics are given, and what is known of some places."""
    source = path.read_text(encoding="utf-8", errors="replace")

    def read() -> None:
        document = Document.read(source, path)
        for position in range(0, len(source), max(1, len(source) // 20)):
            document.hover(position)
            document.definition(position)

    return run_reader(read)


def _read_patterns(path: Path) -> Outcome:
    return run_tool(qmlir_opt.main, [str(path), "-p", "apply-pdl"])


PATTERNS = Kind("patterns", ".mlir", _patterns, _damage, _read_patterns)
DOCUMENT = Kind("document", ".mlir", _whole, _damage, _read_document)
