"""WebAssembly in node and Chromium: `python -m benchmarks.wasm`, `--model` narrows it.

Quantized models are emitted as npm packages and run by node, and in a page of Chromium where that is installed.
Elements of outputs whose bits are not those of the interpreter are counted; it ends with 1 where there are any.
`--time` measures runs in node in turns with `onnxruntime-web`, on one thread, which npm installs, or which lies in the
folder `--peer`.
"""

import argparse
import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.browser import HAS_CHROMIUM, chromium, served
from benchmarks.compared import (
    MOBILENET,
    RESNET,
    ComparedModel,
    add_models,
    compared_models,
    differing_elements,
    outputs_in,
)
from benchmarks.rows import BenchRow, add_output, print_rows, ratio_row, readable, row_of
from qmlir.arithmetic.arrays import Array
from qmlir.extensions.aot.llvm.linkers import WASM_LINKERS
from qmlir.extensions.bench.peers import FORMS, modern
from qmlir.extensions.bench.peers import quantize as quantize_by_peer
from qmlir.extensions.report.timing import Times

TIMED = (RESNET, MOBILENET)
PEER = "onnxruntime-web"
PEER_FORMS = ("f32", "u8s8", "u8u8")
SECONDS_IN_BROWSER = 300
BAR = 0.8
"""Of our time over that of the fastest int8 of the peer."""

ROUNDS, SECONDS = 15, 0.3
"""Turns, and how long one takes about."""

_OUTPUTS = """
function outputsOf(program, data) {
  const written = [];
  for (let place = 0; place < data.length;) {
    const inputs = {};
    for (const port of program.inputs) {
      const size = port.elements * globalThis[port.type].BYTES_PER_ELEMENT;
      inputs[port.name] = new globalThis[port.type](data.slice(place, place + size).buffer);
      place += size;
    }
    for (const array of Object.values(program.run(inputs))) written.push(...new Uint8Array(array.buffer));
  }
  return new Uint8Array(written);
}
"""
"""What a program gives for the inputs of all samples, as bytes."""

_IN_NODE = f"""
import {{ readFileSync, writeFileSync }} from "node:fs";
{_OUTPUTS}
const program = await (await import(process.argv.at(-1))).load();
writeFileSync(1, outputsOf(program, new Uint8Array(readFileSync(0))));
"""

_PAGE = f"""<!doctype html>
<link rel="icon" href="data:,">
<script type="module">
import {{ load }} from "./small.js";
{_OUTPUTS}
async function run() {{
  const data = new Uint8Array(await (await fetch("./samples.bin")).arrayBuffer());
  const bytes = outputsOf(await load(), data);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}}
window.running = run();
</script>
"""
"""The page that runs a program."""

_WAIT = """
const done = arguments[0];
window.running.then((text) => done({ text }), (error) => done({ error: String(error) }));
"""

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
        qmlir.emit(module, format="wasm", name="small").save(name)
        return list(outputs_in(_node(_IN_NODE, f"{name}/small.js", Path(name), _bytes_of(samples)), outputs))


def _bytes_of(samples: Sequence[Sequence[Array]]) -> bytes:
    return b"".join(array.tobytes() for sample in samples for array in sample)


def outputs_in_chromium(
    module: ModuleOp, samples: Sequence[Sequence[Array]], outputs: Sequence[Array]
) -> list[list[Array]]:
    """The same in a page of Chromium. Raises `RuntimeError` where the page fails, or says anything."""
    with TemporaryDirectory(prefix="qmlir-wasm-") as name:
        folder = Path(name)
        qmlir.emit(module, format="wasm", name="small").save(folder)
        (folder / "samples.bin").write_bytes(_bytes_of(samples))
        (folder / "index.html").write_text(_PAGE)
        with served(folder) as address, chromium() as browser:
            browser.get(f"{address}/index.html")
            browser.set_script_timeout(SECONDS_IN_BROWSER)
            found = browser.execute_async_script(_WAIT)
            log = browser.get_log("browser")
    if "text" not in found or log:
        raise RuntimeError(f"the page says: {found.get('error', '')} {log}")
    return list(outputs_in(base64.b64decode(found["text"]), outputs))


RUNNERS: Mapping[str, Callable[[ModuleOp, Sequence[Sequence[Array]], Sequence[Array]], list[list[Array]]]] = {
    "node": outputs_in_node,
    **({"Chromium": outputs_in_chromium} if HAS_CHROMIUM else {}),
}
"""What runs packages, if it is here."""


def peer_files(model: ComparedModel, folder: Path) -> dict[str, str]:
    """The model in the forms of the peer, made in a folder."""
    files: dict[str, str] = {}
    onnx = folder / f"{model.name}.onnx"
    onnx.write_bytes(modern(model.onnx).SerializeToString())
    for form in (FORMS[name] for name in PEER_FORMS):
        path = folder / f"{model.name}.{form.name}.onnx" if form.activations else onnx
        if form.activations:
            quantize_by_peer(onnx, path, form, model.calibrating)
        files[f"{PEER} {form.name}"] = str(path.resolve())
    return files


def differing_rows(model: ComparedModel) -> Iterator[BenchRow]:
    """How many elements differ in node, and in Chromium."""
    for title, run in RUNNERS.items():
        wrong, count = differing_elements(run(model.module, model.inputs, model.wanted[0]), model.wanted)
        yield BenchRow("other bits", wrong, 0, f"of {count} elements", subject=f"{model.name}, {title}")


def time_rows(model: ComparedModel, folder: Path, peer: Path) -> Iterator[BenchRow]:
    """The times of a run, in turns, and ours over that of the fastest int8 of the peer; files are made in `folder`."""
    qmlir.emit(model.module, format="wasm", name="small").save(folder / "net")
    ((name, image),) = model.samples[0].items()
    data = folder / "image.bin"
    data.write_bytes(image.tobytes())
    asked = {
        "package": str((folder / "net" / "small.js").resolve()),
        "input": name,
        "shape": image.shape,
        "data": str(data.resolve()),
        "files": peer_files(model, folder),
        "rounds": ROUNDS,
        "seconds": SECONDS,
    }
    found = json.loads(_node(_TIME, json.dumps(asked), peer))
    times = {title: Times.of(rounds) for title, rounds in found.items()}
    scale, unit = readable(times["qmlir"].median)
    for title, each in times.items():
        yield row_of(each, title, scale, unit, model.name)
    rivals = [times[f"{PEER} {form}"] for form in PEER_FORMS if form != "f32"]
    yield ratio_row(model.name, f"int8 over {PEER}", times["qmlir"], rivals, BAR)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows; how the command ends."""
    parser = argparse.ArgumentParser("python -m benchmarks.wasm", description=__doc__)
    add_models(parser)
    parser.add_argument("--time", action="store_true", help=f"measure {', '.join(TIMED)}, too")
    parser.add_argument("--peer", type=Path, metavar="DIR", help=f"a folder where npm has installed {PEER}")
    add_output(parser)
    given = parser.parse_args(arguments)
    if absent := missing():
        print(f"not run, missing: {absent}", file=sys.stderr)
        return 1
    if len(RUNNERS) == 1:
        print("in node alone, missing: chromium, chromedriver or selenium", file=sys.stderr)
    rows: list[BenchRow] = []
    with TemporaryDirectory(prefix="qmlir-wasm-") as name:
        folder = Path(name)
        if given.time and given.peer is None:
            subprocess.run(
                ["npm", "install", "--no-fund", "--no-audit", PEER], cwd=folder, check=True, stdout=sys.stderr
            )
        for model in compared_models(given):
            made = [*differing_rows(model)]
            if given.time and model.name in TIMED:
                made += time_rows(model, folder, given.peer or folder)
            for row in made:
                print(f"{row.title}: {row.figure:g} {row.unit}", file=sys.stderr, flush=True)
            rows += made
    print_rows(rows, given)
    return int(any(row.figure for row in rows if row.what == "other bits"))


if __name__ == "__main__":
    sys.exit(main())
