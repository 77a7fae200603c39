"""The forward and backward programs of a model in training, compiled for inputs of one shape.

Two training loops use them: that of `qmlir.finetune`, and PyTorch training loops through `qmlir.torch`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.training.differentiating import gradient
from qmlir.extensions.training.reverse import gradient_name
from qmlir.extensions.training.trainable import Trainable
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.signature import Port, inputs_of, outputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.pipelines import CLEAN
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import Shapes, specialize
from qmlir.targets.compiling import compile


def data_inputs(trained: Trainable) -> list[Port]:
    """Returns the inputs of the model, excluding its parameters."""
    inputs = inputs_of(function_of(trained.module, ENTRY))
    return [port for port in inputs if port.name not in trained.parameters]


class TrainingPrograms:
    """The functions `@forward` and `@backward` of a trainable model, compiled for one shape of each input.

    Parameters are inputs of the programs, so changing them does not recompile anything.
    """

    def __init__(
        self, trained: Trainable, shapes: Shapes, *, wrt: Sequence[str] = (), threads: int = 1, isa: str = "host"
    ) -> None:
        """`wrt` names inputs of the model whose gradients are computed in addition. Raises `DiagnosticError`."""
        names = [port.name for port in data_inputs(trained)]
        known = {name: shape for name, shape in shapes.items() if name in names}
        module = gradient(specialize(trained.module, known), [*trained.parameters, *wrt], recompute=True)
        run_pipeline(module, f"nn-contract-integers,{CLEAN}")
        self.outputs = [port.name for port in outputs_of(function_of(trained.module, ENTRY))]
        """The names of the results of the model."""

        self._forward = compile(module, function="forward", threads=threads, isa=isa)
        self._backward = compile(module, function="backward", threads=threads, isa=isa)
        self._reads = inputs_of(function_of(module, "backward"))

    def forward(self, inputs: Mapping[str, Array], parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Runs `@forward`, and returns all values that `backward` may read: arguments, results and kept values."""
        values = {**inputs, **parameters}
        return {**values, **self._forward(values)}

    def results(self, inputs: Mapping[str, Array], parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the results of the model as f32 arrays."""
        values = self._forward({**inputs, **parameters})
        return {name: values[name] for name in self.outputs}

    def backward(self, values: Mapping[str, Array], gradients: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the gradients of parameters by name, given the `values` of `forward` and `gradients` of results.

        A result without an entry in `gradients` has the gradient 0.
        """
        given = {gradient_name(name): array for name, array in gradients.items()}
        taken: dict[str, Array] = {}
        for port in self._reads:
            if port.name in values:
                taken[port.name] = values[port.name]
            else:
                type_ = ranked_tensor(port.type)
                assert type_ is not None
                found = given.get(port.name)
                taken[port.name] = np.zeros(type_.get_shape(), np.float32) if found is None else found
        found = self._backward(taken)
        return {name: found[gradient_name(name)] for name in values if gradient_name(name) in found}
