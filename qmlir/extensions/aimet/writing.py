"""Writes the types of a quantized module as encodings of AIMET."""

import json
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from qmlir.arithmetic.arrays import integer_limits
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.extensions.aimet.reading import MAX_BITS
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import text_error, unknown
from qmlir.ir.provenance import tensor_name
from qmlir.ir.signature import inputs_of
from qmlir.text.files import access, path_of
from qmlir.text.writing import check_file, write_file
from qmlir.workflows.loading import takes_model

Encoding = dict[str, Any]


def _lowest(element: UniformQuantizedType) -> int:
    """Returns the smallest integer of the bits of a type."""
    return integer_limits(element.bits, is_signed=element.is_signed)[0]


def _unsigned(element: UniformQuantizedType) -> list[int]:
    """Returns the offset of each channel, minus the zero point of the integers counted from 0."""
    return [_lowest(element) - int(point) for point in element.zero_points.reshape(-1)]


def _limits(element: UniformQuantizedType) -> tuple[int, int]:
    """Returns the smallest and largest integer, counted from 0."""
    return element.storage_min - _lowest(element), element.storage_max - _lowest(element)


def _is_symmetric(element: UniformQuantizedType) -> bool:
    return all(offset == integer_limits(element.bits)[0] for offset in _unsigned(element))


def _scales(element: UniformQuantizedType) -> list[float]:
    return [float(scale) for scale in element.scales.reshape(-1)]


def _by_channel(name: str, element: UniformQuantizedType) -> list[Encoding]:
    """Returns the encodings of version 0.6.1: one for each channel."""
    del name
    low, high = _limits(element)
    # AIMET counts the integers of a narrow range from its smallest, as -127 of 8 bits.
    first = low if (low, high) == (1, (1 << element.bits) - 1) else 0
    return [
        {
            "bitwidth": element.bits,
            "dtype": "int",
            "is_symmetric": str(_is_symmetric(element)),
            "max": (high + offset) * scale,
            "min": (low + offset) * scale,
            "offset": offset + first,
            "scale": scale,
        }
        for scale, offset in zip(_scales(element), _unsigned(element), strict=True)
    ]


def _check_limits(name: str, element: UniformQuantizedType, *, is_weight: bool) -> None:
    """Raises `DiagnosticError` for a type with limits other than those of its bits, which only version 0.6.1 has.

    Symmetric weights without the smallest integer need no limits, since their scales give none that is smaller.
    """
    highest = (1 << element.bits) - 1
    is_narrow = is_weight and _is_symmetric(element) and _limits(element) == (1, highest)
    if _limits(element) != (0, highest) and not is_narrow:
        raise text_error(
            f"tensor '{name}' has integers from {element.storage_min} to {element.storage_max}, "
            f'not those of {element.bits} bits; help: pass version="0.6.1", which has limits'
        )


def _in_lists(name: str, element: UniformQuantizedType) -> Encoding:
    """Returns the encoding of version 1.0."""
    return {
        "name": name,
        "enc_type": "PER_TENSOR" if element.granularity is Granularity.TENSOR else "PER_CHANNEL",
        "dtype": "INT",
        "bw": element.bits,
        "is_sym": _is_symmetric(element),
        "scale": _scales(element),
        "offset": _unsigned(element),
    }


def _as_in_onnx(name: str, element: UniformQuantizedType) -> Encoding:
    """Returns the encoding of version 2.0."""
    points = [int(point) for point in element.zero_points.reshape(-1)]
    found: Encoding = {"name": name, "output_dtype": f"{'int' if element.is_signed else 'uint'}{element.bits}"}
    if element.granularity is Granularity.TENSOR:
        found |= {"y_scale": element.scale, "y_zero_point": points[0]}
    else:
        found |= {"axis": element.axis, "y_scale": _scales(element), "y_zero_point": points}
    return found


_VERSIONS: Mapping[str, Callable[[str, UniformQuantizedType], Any]] = {
    "0.6.1": _by_channel,
    "1.0.0": _in_lists,
    "2.0.0": _as_in_onnx,
}


def _tensors(module: ModuleOp) -> tuple[dict[str, UniformQuantizedType], dict[str, UniformQuantizedType]]:
    """Returns the types of the activations and the weights of a module, by the names of their tensors in the model."""
    found: tuple[dict[str, UniformQuantizedType], dict[str, UniformQuantizedType]] = {}, {}
    for op in module.walk():
        values = op.body.block.args if isinstance(op, FuncOp) and op.body.blocks else op.results
        for value in values:
            type_ = ranked_tensor(value.type)
            element = None if type_ is None else type_.get_element_type()
            if not isinstance(element, UniformQuantizedType) or element.bits > MAX_BITS:
                continue
            if name := _name(value):
                found[isinstance(op, ConstantOp)].setdefault(name, element)
    return found


def _name(value: SSAValue) -> str:
    """Returns the name of a value in the model; that of a cast is the name of the value that it quantizes."""
    if isinstance(op := value.owner, QuantizeCastOp):
        value = op.input.owner.input if isinstance(op.input.owner, DequantizeCastOp) else op.input
    if isinstance(value, OpResult):
        return tensor_name(value)
    if not isinstance(value, BlockArgument) or not isinstance(function := value.block.parent_op(), FuncOp):
        return ""
    return inputs_of(function)[value.index].name


@takes_model
def export_encodings(
    module: ModuleOp, path: "str | PathLike[str] | None" = None, *, version: str = "1.0.0", force: bool = False
) -> bytes:
    """Writes the scales and zero points of a quantized module as encodings of AIMET, by the names of tensors.

    Accumulators and biases of 32 bits are left out: their scales follow from those of data and weights.

    Args:
        module: The quantized model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model
            that `load` accepts.
        path: The file to write. `None` only returns its content.
        version: Version of the format: `0.6.1`, `1.0.0` or `2.0.0`.
        force: Replace a file at `path` that the module was read from.

    Returns:
        The content of the file, JSON text.

    Raises:
        DiagnosticError: The module is not quantized, a tensor has block-wise scales, or limits that the version
            lacks, or `path` cannot be written.

    Example:
        >>> import json
        >>> data = np.random.default_rng(0).random((64, 4), np.float32)
        >>> quantized = qmlir.quantize("docs/examples/digits.onnxtxt", data)
        >>> content = json.loads(qmlir.export_encodings(quantized, "quantized.encodings"))
        >>> [encoding["name"] for encoding in content["activation_encodings"]]
        ['image', 'hidden', 'logits']
    """
    encoded = _VERSIONS.get(version)
    if encoded is None:
        raise text_error(unknown("version", version, _VERSIONS))
    activations, parameters = _tensors(module)
    if not activations and not parameters:
        raise text_error("encodings require a quantized model; run qmlir quantize first")
    for name, element in (*activations.items(), *parameters.items()):
        if element.granularity is Granularity.BLOCK:
            raise text_error(
                f"tensor '{name}' has one scale per block, but encodings have one per tensor or per channel"
            )
        if version != "0.6.1":
            _check_limits(name, element, is_weight=name in parameters)
    content: dict[str, Any] = {"version": version}
    if version == "2.0.0":
        content["encodings"] = [encoded(*row) for row in (*activations.items(), *parameters.items())]
    else:
        for key, tensors in (("activation_encodings", activations), ("param_encodings", parameters)):
            rows = {name: encoded(name, element) for name, element in tensors.items()}
            content[key] = rows if version == "0.6.1" else list(rows.values())
    data = (json.dumps(content, indent=2) + "\n").encode()
    with access(force=force):
        if path is not None:
            check_file(path_of(path))
            write_file(path_of(path), data)
    return data
