"""WebAssembly in node: `python -m benchmarks.wasm`; `--model` narrows it, `--models DIR` says where the models are.

Quantized models are emitted as npm packages and run by node. Elements of outputs whose bits are not those of the
interpreter are counted; it ends with 1 where there are any. `--time` measures runs in turns with `onnxruntime-web`, on
one thread, which npm installs, or which lies in the folder `--peer`.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.accuracy import MODELS, NAMES
from benchmarks.emitted import differing_elements, outputs_in
from benchmarks.objects import RESNET, images_of
from benchmarks.rows import BenchRow, print_rows, ratio_row, readable, row_of
from benchmarks.subjects import Array, prepare
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.emitters.llvm.linkers import WASM_LINKERS
from qmlir.targets.peers.quantizers import FORMS
from qmlir.targets.peers.quantizers import quantize as quantize_by_peer
from qmlir.workflows.timing import Times

MOBILENET = "mobilenetv2"
SUBJECTS = (*NAMES, RESNET, MOBILENET)
TIMED = (RESNET, MOBILENET)
PEER = "onnxruntime-web"
PEER_FORMS = ("f32", "u8s8", "u8u8")
BAR = 0.8
"""Of our time over that of the fastest int8 of the peer."""

ROUNDS, SECONDS = 15, 0.3
"""Turns, and how long one takes about."""

_RUN = """
import { readFileSync, writeFileSync } from "node:fs";
const program = await (await import(process.argv.at(-1))).load();
const data = readFileSync(0), written = [];
for (let place = 0; place < data.length;) {
  const inputs = {};
  for (const port of program.inputs) {
    const size = port.elements * globalThis[port.type].BYTES_PER_ELEMENT;
    inputs[port.name] = new globalThis[port.type](new Uint8Array(data.subarray(place, place + size)).buffer);
    place += size;
  }
  for (const array of Object.values(program.run(inputs))) written.push(Buffer.from(array.buffer));
}
writeFileSync(1, Buffer.concat(written));
"""
"""What runs a program on all that it reads, and writes its outputs."""

_TIME = """
import { readFileSync } from "node:fs";
import * as peer from "onnxruntime-web";
const { package: folder, input, shape, data, files, rounds, seconds } = JSON.parse(process.argv.at(-1));
const image = new Float32Array(new Uint8Array(readFileSync(data)).buffer), runs = {};
const program = await (await import(folder)).load();
runs.qmlir = () => program.run({ [program.inputs[0].name]: image });
peer.env.wasm.numThreads = 1;
for (const [title, file] of Object.entries(files)) {
  const session = await peer.InferenceSession.create(file, { executionProviders: ["wasm"] });
  const given = { [input]: new peer.Tensor("float32", image, shape) };
  runs[title] = () => session.run(given);
}
const counts = {}, times = {};
for (const [title, run] of Object.entries(runs)) {
  for (let place = 0; place < 20; place++) await run();
  const start = performance.now();
  for (let place = 0; place < 5; place++) await run();
  counts[title] = Math.max(1, Math.round((5000 * seconds) / (performance.now() - start)));
  times[title] = [];
}
for (let round = 0; round < rounds; round++) {
  for (const [title, run] of Object.entries(runs)) {
    const start = performance.now();
    for (let place = 0; place < counts[title]; place++) await run();
    times[title].push((performance.now() - start) / 1000 / counts[title]);
  }
}
console.log(JSON.stringify(times));
"""
"""What times a program and models of the peer in turns."""


def missing() -> str:
    """The tools that are not here, separated by commas."""
    absent = [] if shutil.which("node") else ["node"]
    if all(linker("wasm32") is None for linker in WASM_LINKERS.values()):
        absent.append(" or ".join(WASM_LINKERS))
    return ", ".join(absent)


def _node(script: str, argument: str, folder: Path, data: bytes = b"") -> bytes:
    command = ["node", "--input-type=module", "--eval", script, "--", argument]
    return subprocess.run(command, cwd=folder, input=data, stdout=subprocess.PIPE, check=True).stdout


def outputs_in_node(
    module: ModuleOp, samples: Sequence[Sequence[Array]], outputs: Sequence[Array]
) -> list[list[Array]]:
    """What the package of a module computes in node of each sample, outputs of the types and shapes of `outputs`.

    Raises `CalledProcessError` where it does not run to its end.
    """
    with TemporaryDirectory(prefix="qmlir-wasm-") as name:
        qmlir.emit(module, form="wasm", name="small").save(name)
        given = b"".join(array.tobytes() for sample in samples for array in sample)
        return list(outputs_in(_node(_RUN, f"{name}/small.js", Path(name), given), outputs))


def differing_in_node(module: ModuleOp, samples: Sequence[Sequence[Array]]) -> tuple[int, int]:
    """How many elements have other bits than those of the interpreter, and of how many."""
    wanted = [list(qmlir.interpret(module, sample).values()) for sample in samples]
    return differing_elements(outputs_in_node(module, samples, wanted[0]), wanted)


class WasmSubject:
    """A model in int8, with images, and as the peer has it."""

    def __init__(self, name: str, models: Path, folder: Path) -> None:
        self.name = name
        self.folder = folder
        if name == MOBILENET:
            subject = prepare(name, folder, models, lambda text: print(text, file=sys.stderr))
            self.onnx, self.module = subject.onnx, subject.module("qmlir int8, exact")
            self.calibrating = self.test = [*subject.inputs.values()]
            return
        self.calibrating, self.test = images_of(name, models)
        self.onnx = models / f"{name}.onnx"
        module = qmlir.load(self.onnx, shapes={self.input: self.test[0].shape})
        self.module = qmlir.quantize(module, self._samples).module

    @property
    def input(self) -> str:
        """The name of the only input."""
        (port,) = inputs_of(function_of(qmlir.load(self.onnx), "main"))
        return port.name

    @property
    def _samples(self) -> list[Mapping[str, Array]]:
        return [{self.input: image} for image in self.calibrating]

    def peer_files(self) -> dict[str, str]:
        """The model in the forms of the peer."""
        files: dict[str, str] = {}
        for form in (FORMS[name] for name in PEER_FORMS):
            path = self.folder / f"{self.name}.{form.name}.onnx" if form.activations else self.onnx
            if form.activations:
                quantize_by_peer(self.onnx, path, form, self._samples)
            files[f"{PEER} {form.name}"] = str(path.resolve())
        return files


def differing_row(subject: WasmSubject) -> BenchRow:
    """How many elements differ in node."""
    wrong, count = differing_in_node(subject.module, [[image] for image in subject.test])
    return BenchRow("other bits", wrong, 0, f"of {count} elements", subject=subject.name)


def time_rows(subject: WasmSubject, peer: Path) -> Iterator[BenchRow]:
    """The times of a run, in turns, and ours over that of the fastest int8 of the peer."""
    qmlir.emit(subject.module, form="wasm", name="small").save(subject.folder / "net")
    data = subject.folder / "image.bin"
    data.write_bytes(subject.test[0].tobytes())
    asked = {
        "package": str((subject.folder / "net" / "small.js").resolve()),
        "input": subject.input,
        "shape": subject.test[0].shape,
        "data": str(data.resolve()),
        "files": subject.peer_files(),
        "rounds": ROUNDS,
        "seconds": SECONDS,
    }
    found = json.loads(_node(_TIME, json.dumps(asked), peer))
    times = {title: Times.of(rounds) for title, rounds in found.items()}
    scale, unit = readable(times["qmlir"].median)
    for title, each in times.items():
        yield row_of(each, title, scale, unit, subject.name)
    rivals = [times[f"{PEER} {form}"] for form in PEER_FORMS if form != "f32"]
    yield ratio_row(subject.name, f"int8 over {PEER}", times["qmlir"], rivals, BAR)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows; how the command ends."""
    parser = argparse.ArgumentParser("python -m benchmarks.wasm", description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS, metavar="DIR", help="where the models are")
    parser.add_argument("--model", action="append", choices=SUBJECTS, help="this one alone; may be repeated")
    parser.add_argument("--time", action="store_true", help=f"measure {', '.join(TIMED)}, too")
    parser.add_argument("--peer", type=Path, metavar="DIR", help=f"a folder where npm has installed {PEER}")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args(arguments)
    if absent := missing():
        print(f"not run, missing: {absent}", file=sys.stderr)
        return 1
    rows: list[BenchRow] = []
    with TemporaryDirectory(prefix="qmlir-wasm-") as name:
        folder = Path(name)
        if given.time and given.peer is None:
            subprocess.run(
                ["npm", "install", "--no-fund", "--no-audit", PEER], cwd=folder, check=True, stdout=sys.stderr
            )
        for each in given.model or SUBJECTS:
            subject = WasmSubject(each, given.models, folder)
            rows.append(differing_row(subject))
            if given.time and each in TIMED:
                rows += time_rows(subject, given.peer or folder)
            print(f"{rows[-1].title}: {rows[-1].figure:g} {rows[-1].unit}", file=sys.stderr, flush=True)
    print_rows(rows, as_json=given.json)
    return int(any(row.figure for row in rows if row.what == "other bits"))


if __name__ == "__main__":
    sys.exit(main())
