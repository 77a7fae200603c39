"""Train a small GPT, quantize it with its cache, compile it, and let it go on with a text.

`python -m examples.gpt "The import statement"` trains for about four minutes on one core and keeps the model as
`build/gpt/gpt.onnx`; later runs take that.
"""

import argparse
from pathlib import Path

import qmlir
from examples.gpt.exporting import exported, no_past, states
from examples.gpt.generating import Reader
from examples.gpt.training import Shape, encoded, texts, train, windows


def trained(path: Path, shape: Shape, steps: int) -> None:
    """Train a GPT for so many steps, and write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for step, (loss, parameters) in enumerate(train(shape, texts()[0], steps), 1):
        if step % 50 == 0 or step == steps:
            print(f"step {step} of {steps}: loss {loss:.3f}", flush=True)
        if step == steps:
            path.write_bytes(exported(shape, parameters).SerializeToString())


def main() -> None:
    """Read the command line, and write the text."""
    parser = argparse.ArgumentParser(prog="python -m examples.gpt", description=__doc__)
    parser.add_argument("prompt", nargs="?", default="The import statement ", help="at most 64 characters")
    parser.add_argument("--model", type=Path, default=Path("build/gpt/gpt.onnx"), help="the model, trained if missing")
    parser.add_argument("--steps", type=int, default=1100, help="of training")
    parser.add_argument("--length", type=int, default=60, help="how many characters to write")
    arguments = parser.parse_args()
    shape = Shape()
    if not arguments.model.exists():
        trained(arguments.model, shape, arguments.steps)

    rows = windows(texts()[0], shape.context)[::100]
    samples = [{"tokens": row[None], **no_past(shape, 1)} for row in rows]
    quantized = qmlir.quantize(qmlir.load(arguments.model), samples, states=states(shape)).module

    program = qmlir.compile(quantized)  # for each length that it meets: that of the prompt, and one
    prompt = encoded(arguments.prompt[:64])[None]
    print(arguments.prompt[:64], end="", flush=True)
    for token in Reader(program, shape).continued(prompt, arguments.length):
        print(chr(int(token[0])), end="", flush=True)
    print()


if __name__ == "__main__":
    main()
