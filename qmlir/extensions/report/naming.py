"""Nodes and values that a user names, as plain data."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from qmlir.dialects.quant.infer import bytes_of, shaped_type
from qmlir.dialects.quant.types import CalibratedQuantizedType, UniformQuantizedType, storage_limits
from qmlir.ir.diagnostics import text_error
from qmlir.ir.provenance import Origin, origins_of, tensor_name, tensor_names
from qmlir.ir.signature import inputs_of
from qmlir.quantization.profiles.keys import functions_of, is_constant, keyed_values
from qmlir.quantization.report import CASTS, element_text
from qmlir.workflows.comparison.names import wholes

# Lookup of the node that a user names: by its name, a provenance key, a tensor, an input or a weight.

_SHOWN = 5
"""The maximum number of similar names in the error message."""


@dataclass(frozen=True)
class NamedNode:
    """The provenance keys and value keys that a name denotes."""

    name: str
    origins: frozenset[str] = frozenset()
    """Keys such as `fc1`, or `fc1/matmul` for a part of a node; each key includes the parts of the part it names."""

    values: frozenset[str] = frozenset()
    """The keys of inputs, and of values computed by operations without provenance."""

    def is_of(self, op: Operation) -> bool:
        """Returns true if `op` implements the node or a part of it."""
        return any(map(self.has, origins_of(op)))

    def has(self, origin: Origin) -> bool:
        """Returns true if `origin` is the node or a part of it."""
        key = str(origin)
        return any(each in (origin.name, key) or key.startswith(f"{each}/") for each in self.origins)


@dataclass
class _Names:
    """All known names, with the keys that they denote."""

    origins: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    values: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def add(self, module: ModuleOp) -> None:
        for op in module.walk():
            if isinstance(op, FuncOp):
                continue
            for key in (key for origin in origins_of(op) for key in reversed([*wholes(origin)])):
                self.origins.setdefault(key, set()).add(key)
        for op in module.walk():
            keys = {str(origin) for origin in origins_of(op)}
            for tensor in filter(None, tensor_names(op)):
                if tensor not in self.origins and keys:
                    self.origins[tensor] = keys
        self._add_values(module)

    def _add_values(self, module: ModuleOp) -> None:
        for each in keyed_values(module):
            if isinstance(each.owner, FuncOp) or not origins_of(each.owner):
                self.values.setdefault(each.key, set()).add(each.key)
            else:
                self.origins.setdefault(each.key, {str(origin) for origin in origins_of(each.owner)})
        for function in functions_of(module):
            for port in inputs_of(function):
                if port.name not in self.origins:
                    self.values.setdefault(port.name, set()).add(port.name)


def find_node(name: str, *modules: ModuleOp) -> NamedNode:
    """Returns the node that `name` denotes in the first of `modules`, stages of a model, that contains the name.

    Raises `DiagnosticError`, with similar names, if no stage contains it.
    """
    names = _Names()
    for module in modules:
        names.add(module)
    if name in names.origins or name in names.values:
        return NamedNode(name, frozenset(names.origins.get(name, ())), frozenset(names.values.get(name, ())))
    known = list(dict.fromkeys((*names.origins, *names.values)))
    inside = [each for each in known if name and name.lower() in each.lower()]
    near = list(dict.fromkeys([*get_close_matches(name, known, n=_SHOWN, cutoff=0.6), *inside]))[:_SHOWN]
    found = (
        f"; similar: {', '.join(near)}" if near else f" (available: {', '.join(known[:_SHOWN])}, …)" if known else ""
    )
    raise text_error(f"the model has no node, tensor or input '{name}'{found}")


# A value of a module as plain data: its element type, shape, bytes, quantization parameters and range.
#
# Dynamic dimensions are `None`. In numbers of elements and bytes they count as 1, so that these apply to one sample.


@dataclass(frozen=True)
class ParameterInfo:
    """The parameters of a quantized type."""

    storage: str
    """The storage type, such as `i8`, or `i8<-127:127>` with narrower limits."""

    granularity: str
    """The granularity: `tensor`, `axis` or `block`."""

    axes: tuple[int, ...]
    """The axes along which scales and zero points vary."""

    count: int
    """Number of scales."""

    scale: tuple[float, float]
    """The smallest and the largest scale."""

    zero_point: tuple[int, int]
    """The smallest and the largest zero point."""

    range: tuple[float, float]
    """The smallest and the largest value that the type represents."""

    @staticmethod
    def of(type_: UniformQuantizedType) -> "ParameterInfo":
        """Returns the parameters of `type_`."""
        found = type_.storage_min, type_.storage_max
        assert isinstance(type_.storage, IntegerType)
        limits = "" if found == storage_limits(type_.storage) else f"<{found[0]}:{found[1]}>"
        scales, points = type_.scales, type_.zero_points
        return ParameterInfo(
            f"{element_text(type_)}{limits}", str(type_.granularity), type_.axes, int(scales.size),
            (float(scales.min()), float(scales.max())), (int(points.min()), int(points.max())),
            represented_range(type_),
        )  # fmt: skip

    @property
    def text(self) -> str:
        """A summary such as `i8, scale 0.0078, zero point -14`."""
        axes = ", ".join(map(str, self.axes))
        if self.count == 1:
            scale = f"scale {self.scale[0]:.6g}"
        else:
            along = f" along ax{'i' if len(self.axes) == 1 else 'e'}s {axes}" if self.axes else ""
            scale = f"{self.count} scales from {self.scale[0]:.4g} to {self.scale[1]:.4g}{along}"
        low, high = self.zero_point
        return f"{self.storage}, {scale}, zero point{f' {low}' if low == high else f's from {low} to {high}'}"


@dataclass(frozen=True)
class ValueInfo:
    """One operand or result of an operation."""

    name: str
    """The name of the tensor in the model; empty if it has none."""

    element: str
    """The stored element type, such as `f32` or `i8`."""

    shape: tuple[int | None, ...]
    bytes: int
    is_constant: bool
    range: tuple[float, float] | None = None
    """The observed range of a profiled value, or the range that a quantized type represents."""

    parameters: ParameterInfo | None = None

    @property
    def text(self) -> str:
        """The shape and element type, such as `1x64x56x56xi8`."""
        return "x".join(["?" if size is None else str(size) for size in self.shape] + [self.element])


def represented_range(type_: UniformQuantizedType) -> tuple[float, float]:
    """Returns the smallest `scale * (qmin - zero_point)` and the largest `scale * (qmax - zero_point)` of a type."""
    low = type_.scales * (type_.storage_min - type_.zero_points)
    high = type_.scales * (type_.storage_max - type_.zero_points)
    return float(low.min()), float(high.max())


def constant_behind(value: SSAValue) -> SSAValue | None:
    """Returns the constant that `value` is or is cast from; `None` if `value` is computed."""
    while isinstance(value.owner, CASTS):
        value = value.owner.operands[0]
    owner = value.owner
    is_global = isinstance(owner, Operation) and owner.name == "memref.get_global"
    return value if isinstance(owner, Operation) and (is_global or is_constant(owner)) else None


def value_info(value: SSAValue) -> ValueInfo | None:
    """Returns the description of a tensor or a memref; `None` for any other value."""
    found = shaped_type(value)
    if found is None:
        return None
    element, shape = found
    parameters = ParameterInfo.of(element) if isinstance(element, UniformQuantizedType) else None
    observed = (element.minimum, element.maximum) if isinstance(element, CalibratedQuantizedType) else None
    name = tensor_name(value) if isinstance(value, OpResult) else value.name_hint or ""
    sizes = tuple(None if size == DYNAMIC_INDEX else size for size in shape)
    range_, is_fixed = observed if parameters is None else parameters.range, constant_behind(value) is not None
    return ValueInfo(name, element_text(element), sizes, bytes_of(value), is_fixed, range_, parameters)


def value_infos(values: Iterable[SSAValue]) -> tuple[ValueInfo, ...]:
    """Returns the descriptions of the tensors and memrefs among `values`."""
    return tuple(info for value in values if (info := value_info(value)) is not None)
