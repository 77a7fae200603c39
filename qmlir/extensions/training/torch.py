"""`qmlir.torch`: a model in training as a PyTorch module."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qmlir.arithmetic.arrays import Array
from qmlir.extensions.training.trainable import Trainable, TrainingPrograms, data_inputs
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import text_error

if find_spec("torch") is None:
    raise ImportError("qmlir.torch requires PyTorch; run pip install 'qmlir[torch]'")
torch: Any = import_module("torch")


class _Run(torch.autograd.Function):  # pyright: ignore[reportUntypedBaseClass]
    """A forward run whose gradients the backward program computes."""

    @staticmethod
    def forward(ctx: Any, programs: TrainingPrograms, names: list[str], count: int, *tensors: Any) -> Any:
        """`tensors` are `count` inputs of the model, then its parameters; `names` are the names of both."""
        arrays = dict(zip(names, map(_array, tensors), strict=True))
        inputs = {name: arrays.pop(name) for name in names[:count]}
        values = programs.forward(inputs, arrays)
        ctx.programs, ctx.names, ctx.values = programs, names, values
        return tuple(torch.from_numpy(values[name].copy()) for name in programs.outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        given = zip(ctx.programs.outputs, gradients, strict=True)
        found = ctx.programs.backward(ctx.values, {name: _array(each) for name, each in given if each is not None})
        needed = zip(ctx.names, ctx.needs_input_grad[3:], strict=True)
        of_each = [torch.from_numpy(found[name].copy()) if is_needed else None for name, is_needed in needed]
        return (None, None, None, *of_each)


def _array(tensor: Any) -> Array:
    """Copies a tensor, as an optimizer may overwrite it before the backward program reads it."""
    return np.array(tensor.detach().cpu().numpy())


class Module(torch.nn.Module):  # pyright: ignore[reportUntypedBaseClass]
    """The result of `qmlir.trainable` as a `torch.nn.Module`, with weights, biases and scales as its parameters.

    A parameter has the same name as in `qmlir`, with `/` for each `.`, which torch does not allow in names:
    `s1/c1/weight`, `s1/c1/weight/scale`. Call the module with the inputs of the model, in order or by name, as f32
    tensors; it returns the result, or a tuple of results if there are several. The forward run computes the integers of
    the quantized model. Tensors are copied to the CPU, and results are on the CPU. Programs are compiled at the first
    call with inputs of new shapes. Scales must stay greater than 0, except for the thresholds of `scales="tqt"`, which
    are logarithms.
    """

    def __init__(self, trained: Trainable, *, threads: int = 1, isa: str = "host") -> None:
        """Wraps `trained`; `threads` and `isa` are those of `qmlir.compile`."""
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self._trained, self._threads, self._isa = trained, threads, isa
        self._inputs = data_inputs(trained)
        self._compiled: dict[tuple[object, ...], TrainingPrograms] = {}
        self.names: dict[str, str] = {}
        """The name of each parameter in this module, by its name in `qmlir`."""

        for name, array in trained.parameters.items():
            own = name.replace(".", "/") or "/"
            while own in self.names.values() or hasattr(self, own):
                own += "#"
            self.names[name] = own
            self.register_parameter(own, torch.nn.Parameter(torch.from_numpy(np.array(array, np.float32))))

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Computes the results of the model. Raises `DiagnosticError` if the inputs don't match those of the model."""
        tensors = self._given(inputs, named)
        wrt = tuple(name for name, each in tensors.items() if each.requires_grad and each.is_floating_point())
        shapes = {name: tuple(each.shape) for name, each in tensors.items()}
        key = (tuple(shapes.items()), wrt if torch.is_grad_enabled() else ())
        if key not in self._compiled:
            self._compiled[key] = TrainingPrograms(self._trained, shapes, wrt=wrt, threads=self._threads, isa=self._isa)
        parameters = {name: getattr(self, own) for name, own in self.names.items()}
        results = _Run.apply(
            self._compiled[key], [*tensors, *parameters], len(tensors), *tensors.values(), *parameters.values()
        )  # fmt: skip
        return results[0] if len(results) == 1 else results

    def freeze(self) -> ModuleOp:
        """Returns the quantized module with the current parameters, as `qmlir.quantize` would make it."""
        return self._trained.freeze({name: _array(getattr(self, own)) for name, own in self.names.items()})

    def _given(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        names = [port.name for port in self._inputs]
        given = {**dict(zip(names, inputs, strict=False)), **named}
        if len(inputs) + len(named) != len(names) or set(given) != set(names):
            found = ", ".join([f"{len(inputs)} in order", *named])
            raise text_error(f"the model takes inputs {', '.join(names)}, but got {found}")
        for port in self._inputs:
            type_ = ranked_tensor(port.type)
            dtype = None if type_ is None else value_dtype(type_.get_element_type())
            found = str(given[port.name].dtype).removeprefix("torch.")
            if dtype is not None and found != dtype.name:
                raise text_error(f"input '{port.name}' must be {dtype.name}, but got {found}")
        return {name: given[name] for name in names}
