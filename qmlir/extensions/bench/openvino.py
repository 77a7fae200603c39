"""Models in OpenVINO: every option that affects results or times is explicit; called with arrays by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.ir.diagnostics import text_error
from qmlir.targets.runtimes.packages import imported

PACKAGE = "openvino"


@dataclass(frozen=True)
class OvOptions:
    """Explicit options of a compiled model."""

    threads: int = 1

    precision: str = "f32"
    """The precision of float computations; by default OpenVINO uses bf16 if the CPU supports it."""


class OvSession:
    """A model in OpenVINO, on the CPU, one request at a time (`PERFORMANCE_HINT` is `LATENCY`)."""

    def __init__(
        self,
        model: str | PathLike[str],
        options: OvOptions = OvOptions(),
        shapes: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        """`model` is a file; `shapes` fixes the shapes of inputs. Raises `DiagnosticError` if it cannot be run."""
        openvino = imported(PACKAGE)
        self.options = options
        settings = {
            "INFERENCE_NUM_THREADS": options.threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": options.precision,
        }
        try:
            core = openvino.Core()
            read = core.read_model(fspath(model))
            if shapes:
                read.reshape({name: list(shape) for name, shape in shapes.items()})
            compiled = core.compile_model(read, "CPU", settings)
        except RuntimeError as error:
            raise text_error(f"OpenVINO cannot run the model: {' '.join(str(error).split())}") from error
        self.input_names: tuple[str, ...] = tuple(port.any_name for port in compiled.inputs)
        self.output_names: tuple[str, ...] = tuple(port.any_name for port in compiled.outputs)
        self._request = compiled.create_infer_request()

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the outputs by name, copied."""
        self.infer(inputs)
        tensors = (self._request.get_output_tensor(place) for place in range(len(self.output_names)))
        # The next request overwrites its memory.
        return {name: np.array(tensor.data) for name, tensor in zip(self.output_names, tensors, strict=True)}

    def infer(self, inputs: Mapping[str, Array]) -> None:
        """Computes without copying the outputs; this is what benchmarks time."""
        self._request.infer(dict(inputs))
