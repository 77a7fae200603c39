"""The digest of a model: what tells whether a profile is of this model or of another.

Two digests: one of the structure (ports, operations on floats with their provenance, properties and wiring) and one of
the weights. Neither knows names of SSA values, observers, ranges in types, or shapes: so a profile is good for every
batch size of a model. What is computed from constants alone may be folded, and integers, which hold shapes, may too:
neither takes part.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import InterpretationError

from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.ops.constant import ConstantOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.decomposition import COMPONENTS
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.profiles.keys import functions_of, is_float, unobserved


@dataclass(frozen=True)
class ModelDigest:
    """What a profile keeps of the model that it is of."""

    structure: str
    weights: str
    """Empty where the text of the module left weights out."""


_FEW = 64
"""Elements that tell most tensors from one that has a single value."""


def _sha256(lines: Iterator[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _properties(op: Operation) -> str:
    """The properties that are not at their defaults, which text leaves out.

    Nor those that may be operands too: as shapes and bounds they can hold the batch size; nor the ranges of parts.
    """
    defaults: dict[str, Attribute | None] = {}
    if isinstance(op, IRDLOperation):
        defaults = {name: each.default_value for name, each in op.get_irdl_definition().properties.items()}
    unstable: tuple[str, ...] = (*getattr(op, "PARAMETERS", ()), COMPONENTS)
    told = (name for name in sorted(op.properties) if name not in unstable)
    return ", ".join(f"{name} = {op.properties[name]}" for name in told if op.properties[name] != defaults.get(name))


def _port_lines(function: FuncOp) -> Iterator[str]:
    for port in (*inputs_of(function), *outputs_of(function)):
        tensor = ranked_tensor(port.type)
        element = port.type if tensor is None else plain_type(tensor.get_element_type())
        rank = "" if tensor is None else tensor.get_num_dims()
        yield f"port {port.name} {element} {rank}"


def _function_lines(function: FuncOp) -> Iterator[str]:
    yield f"function {function.sym_name.data}"
    yield from _port_lines(function)
    numbers: dict[SSAValue, int] = {}
    for argument in filter(is_float, function.body.blocks[0].args):
        numbers[argument] = len(numbers)
    for op in function.body.walk():
        operands = [numbers[value] for value in map(unobserved, op.operands) if value in numbers]
        results = list(filter(is_float, op.results))
        if isinstance(op, ObserveOp) or not operands or (op.results and not results):
            continue
        for result in results:
            numbers[result] = len(numbers)
        nodes = "+".join(map(str, origins_of(op)))
        yield f"{op.name} {nodes} {_properties(op)} {operands}"


def _weight_lines(module: ModuleOp) -> Iterator[str]:
    """One line for each constant; one value for a tensor of equal ones, which may have been expanded or not."""
    for function in functions_of(module):
        for op in function.body.walk():
            if not isinstance(op, ConstantOp) or not is_float(op.result):
                continue
            array = op.array
            flat = array.reshape(-1)
            # Most tensors differ early, and need not be read as a whole.
            is_splat = array.size > 0 and all(bool((part == flat[0]).all()) for part in (flat[:_FEW], flat))
            data = flat[:1].tobytes() if is_splat else array.tobytes()
            shape = "" if is_splat else "x".join(map(str, array.shape))
            yield f"{'+'.join(map(str, origins_of(op)))} {shape} {array.dtype} {hashlib.sha256(data).hexdigest()}"


def model_digest(module: ModuleOp) -> ModelDigest:
    """The digest of the structure and of the weights of `module`."""
    structure = (line for function in functions_of(module) for line in _function_lines(function))
    try:
        weights = _sha256(iter(sorted(_weight_lines(module))))
    except InterpretationError:  # the text left them out
        weights = ""
    return ModelDigest(_sha256(structure), weights)
