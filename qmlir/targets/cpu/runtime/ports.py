"""The inputs and outputs of a compiled program, and checks of the caller's arrays; part of saved programs."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import byte_bounds

from .errors import InputError

Array = npt.NDArray[Any]

OPEN = -1
"""A dynamic size."""


@dataclass(frozen=True)
class ArrayPort:
    """An input or output: its name, the NumPy type and shape of its array, and whether NaN is rejected.

    A size may be `OPEN`; without a rank, the shape is ignored. `bits` is the width of elements that don't fill their
    NumPy type, 0 for all others. Such elements are integers, signed if the NumPy type is, or low-precision floats.
    Stored integers have a `scale` and a `zero_point`: `real = scale * (stored - zero_point)`.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_quantized: bool = False
    has_rank: bool = True
    bits: int = 0
    scale: float | None = None
    zero_point: int = 0

    @cached_property
    def is_narrow(self) -> bool:
        """True if kernels represent the elements differently from the caller.

        Kernels store unsigned sub-byte integers and low-precision floats as signed integers, and 1-bit signed integers
        (-1 and 0) as 1 and 0.
        """
        return self.bits > 0 and (self.dtype.kind != "i" or self.bits == 1)

    @cached_property
    def memory(self) -> np.dtype[Any] | None:
        """The NumPy type that kernels use if it differs from the caller's; else `None`.

        Kernels ignore signs, treat Booleans as bytes, and represent 16-bit and smaller floats by their bits.
        """
        if self.dtype.kind in "ub" or (self.dtype.itemsize == 1 and self.dtype.kind != "i"):
            return np.dtype(f"i{self.dtype.itemsize}")
        return np.dtype(np.uint16) if self.dtype.itemsize == 2 and self.dtype.kind != "i" else None

    @cached_property
    def limits(self) -> tuple[int, int] | None:
        """The smallest and largest valid element (byte for a Boolean) if the NumPy type holds more; else `None`."""
        if self.dtype == np.bool_:
            return 0, 1
        if not self.bits:
            return None
        return (
            (0, (1 << self.bits) - 1) if self.dtype.kind != "i" else (-(1 << self.bits - 1), (1 << self.bits - 1) - 1)
        )


def shape_text(shape: Sequence[int]) -> str:
    """Returns a shape as text, such as `1x3x32x32`."""
    return "x".join("?" if size == OPEN else str(size) for size in shape) or "scalar"


def _dtype_text(port: ArrayPort) -> str:
    return f"{port.dtype}{scale_text(port.scale, port.zero_point)}"


def scale_text(scale: float | None, zero_point: int) -> str:
    """Returns `, scale 0.5, zero point 3` for stored integers, and an empty text for other elements."""
    return "" if scale is None else f", scale {scale:.9g}, zero point {zero_point}"


def ports_text(inputs: Sequence[ArrayPort], outputs: Sequence[ArrayPort]) -> str:
    """Describes a program, one line per input and output; unprintable characters are escaped."""
    rows = (*(("takes", port) for port in inputs), *(("gives", port) for port in outputs))
    lines = ["program", *(f"{word} {port.name}: {shape_text(port.shape)} {_dtype_text(port)}" for word, port in rows)]
    return "\n".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in lines)


def _nearest(name: str, names: Sequence[str]) -> str:
    folded = {each.lower(): each for each in names}
    matches = difflib.get_close_matches(name.lower(), folded, n=1)
    return f"; did you mean '{folded[matches[0]]}'?" if matches else ""


def _fits(shape: Sequence[int], found: Sequence[int]) -> bool:
    return len(shape) == len(found) and all(size in (OPEN, given) for size, given in zip(shape, found, strict=True))


def _check_limits(port: ArrayPort, array: Array) -> None:
    """Raises `InputError` if the bits of an element are not a valid value of its type."""
    if port.limits is None or not array.size:
        return
    # A NumPy Boolean is a byte, to which another library may have written any value; so is a small float.
    numbers = array if array.dtype.kind in "iu" else array.view(np.uint8)
    low, high = port.limits
    if int(numbers.min()) >= low and int(numbers.max()) <= high:
        return
    position = np.argwhere((numbers < low) | (numbers > high))[0]
    found = int(numbers[tuple(position)])
    raise InputError(
        f"input '{port.name}' must be in [{low}, {high}], but got {found} at {[int(each) for each in position]}"
    )


def _has_nan(array: Array) -> bool:
    """Returns true if a float array contains NaN; `argmax` finds NaN first."""
    if not array.size:
        return False
    largest = array.item(array.argmax())
    return bool(largest != largest)


def checked(port: ArrayPort, value: Any) -> Array:
    """Returns `value` as a contiguous, aligned array in native byte order. Raises `InputError` if it doesn't fit.

    The layout and byte order of the caller's array are arbitrary; its type and shape must match `port`.
    """
    # Fast path: arrays are nearly always ready for kernels, and every check is noticeable for small models.
    if type(value) is np.ndarray and value.dtype is port.dtype and value.shape == port.shape and not port.limits:
        flags = value.flags
        array = value if flags.c_contiguous and flags.aligned else _converted(port, value)
    else:
        array = _converted(port, value)
    if port.is_quantized and _has_nan(array):
        position = [int(each) for each in np.argwhere(np.isnan(array))[0]]
        raise InputError(f"input '{port.name}' is NaN at {position}, which a quantized model cannot represent")
    return array


def _variable(port: ArrayPort) -> str:
    return port.name if port.name.isidentifier() else "x"


def _typed(port: ArrayPort, found: np.dtype[Any]) -> str:
    """Returns the help text for an array of another element type; empty if there is no advice."""
    if port.scale is not None and found.kind == "f":
        return f"; help: pass {_quantizing_text(port, port.scale)}"
    if port.bits or port.dtype.kind not in "iuf" or found.kind not in "iuf":
        return ""
    scaled = ", scaled like the calibration samples" if found.kind != "f" and port.dtype.kind == "f" else ""
    return f"; help: pass {_variable(port)}.astype(np.{port.dtype}){scaled}"


def _quantizing_text(port: ArrayPort, scale: float) -> str:
    """Returns the NumPy expression for the stored integers of a float array, with scale and zero point."""
    ends = np.iinfo(port.dtype)
    low, high = port.limits or (ends.min, ends.max)
    rounded = f"np.rint({_variable(port)} / np.float32({scale:.9g}))"
    expression = f"np.clip({rounded} + {port.zero_point}, {low}, {high}).astype(np.{port.dtype})"
    return f"{expression} (scale {scale:.9g}, zero point {port.zero_point})".replace("+ -", "- ")


def _shaped(port: ArrayPort, found: tuple[int, ...]) -> str:
    """Returns the help text for a sample without its batch axis, or with its channels along another axis."""
    one, rank = _variable(port), len(found)
    added = len(port.shape) - rank
    if rank and added > 0 and _fits(port.shape[added:], found) and set(port.shape[:added]) <= {1, OPEN}:
        return f"; help: pass {one}[{', '.join(['np.newaxis'] * added)}] for one sample"
    for axis, size in enumerate(port.shape):
        if axis and size == 1 and _fits((*port.shape[:axis], *port.shape[axis + 1 :]), found):
            return f"; help: pass {one}[{', '.join([':'] * axis + ['np.newaxis'])}]"
    for order in ((0, 3, 1, 2), (0, 2, 3, 1), (2, 0, 1), (1, 2, 0)):
        moved = [found[axis] for axis in order] if len(order) == rank else []
        is_single = rank == 3 and port.shape[:1] in ((1,), (OPEN,))
        if moved and _fits(port.shape[1:], moved[1:] if rank == 4 else moved) and (rank == 4 or is_single):
            added = "[np.newaxis]" if is_single else ""
            return f"; help: pass {one}.transpose{order}{added} (its channels are along another axis)"
    return ""


def _converted(port: ArrayPort, value: Any) -> Array:
    """Converts any value that fits `port` to an array that kernels can read."""
    try:
        array = np.asarray(value)
    except Exception as error:  # a user's class may raise anything
        raise InputError(f"cannot convert input '{port.name}' to an array: {error}") from error
    is_bool = port.dtype == np.bool_ and array.dtype == np.int8
    if array.dtype.newbyteorder("=") != port.dtype and not is_bool:
        hint = _typed(port, array.dtype)
        raise InputError(f"input '{port.name}' must be {port.dtype}, but got {array.dtype}{hint}")
    if port.has_rank and not _fits(port.shape, array.shape):
        found = f"{shape_text(array.shape)}{_shaped(port, array.shape)}"
        raise InputError(f"input '{port.name}' must have shape {shape_text(port.shape)}, but got {found}")
    _check_limits(port, array)
    return np.require(array, port.dtype, ("C", "A"))


def by_name(ports: Sequence[ArrayPort], inputs: Mapping[str, Any] | Sequence[Any] | Array) -> list[Any]:
    """Returns the values of all inputs in order, from a dict by name, a sequence, or one array. Raises `InputError`."""
    given: Any = inputs
    if given.__class__ is dict and len(given) == len(ports):
        try:  # the common case; errors are reported below
            return [given[port.name] for port in ports]
        except KeyError:
            pass
    names = [port.name for port in ports]
    if hasattr(inputs, "__array__"):  # one array, of NumPy or another library
        inputs = [inputs]
    if not isinstance(cast(Any, inputs), Mapping | Sequence) or isinstance(inputs, str | bytes):
        raise InputError(
            f"inputs must be a dict of arrays by name, or arrays in order, but got {type(inputs).__name__}"
        )
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            stacked = "; help: pass np.stack(samples) as one array" if len(names) == 1 and len(inputs) else ""
            some = f"{len(names)} input{'' if len(names) == 1 else 's'}"
            listed = f"the program takes {some} ({', '.join(names)}), but got {len(inputs)}"
            raise InputError(f"{listed}{stacked}")
        return list(inputs)
    check_names("input", inputs, names)
    missing = [port for port in ports if port.name not in inputs]
    if missing:
        listed = ", ".join(f"'{port.name}' ({shape_text(port.shape)} {port.dtype})" for port in missing)
        raise InputError(
            f"no value for input{'s' if len(missing) > 1 else ''} {listed}; help: pass --input FILE.npz "
            f"(inputs={{'{missing[0].name}': array}})"
        )
    return [inputs[name] for name in names]


def check_names(kind: str, given: Iterable[Any], names: Sequence[str]) -> None:
    """Raises `InputError` if a given name is not an input or output of the program."""
    for name in given:
        if name not in names:
            known = ", ".join(names) or "none"
            raise InputError(f"the program has no {kind} '{name}'{_nearest(str(name), names)} (available: {known})")


def check_outputs(given: Any, names: Sequence[str]) -> None:
    """Raises `InputError` if `given` is not a mapping from names of outputs."""
    if not isinstance(given, Mapping):
        what = type(given).__name__
        raise InputError(
            f"outputs must be a dict of arrays by name, but got {what}; help: pass several inputs as one list"
        )
    check_names("output", cast(Mapping[Any, Any], given), names)


def check_target(name: str, given: object, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Returns the caller's array for an output. Raises `InputError` if the output can't be written there."""
    if not isinstance(given, np.ndarray):
        raise InputError(f"output '{name}' must be an array to write to, but got {type(given).__name__}")
    array: Array = np.asarray(cast(Array, given))
    if array.dtype != dtype or array.shape != shape:
        raise InputError(
            f"output '{name}' must be {dtype} of shape {shape_text(shape)}, "
            f"but got {array.dtype} of shape {shape_text(array.shape)}"
        )
    if not array.flags.writeable:
        raise InputError(f"output '{name}' is read-only")
    return array


def result_arrays(ports: Sequence[ArrayPort], outputs: Mapping[str, Array] | None) -> dict[str, Array]:
    """Returns an array for each output: that of the caller if there is one, otherwise a new one.

    Raises `InputError` if an array of the caller doesn't fit.
    """
    if outputs is None:
        return {port.name: np.empty(port.shape, port.dtype) for port in ports}
    check_outputs(outputs, [port.name for port in ports])
    given = ((port, outputs.get(port.name)) for port in ports)
    return {
        port.name: np.empty(port.shape, port.dtype)
        if own is None
        else check_target(port.name, own, port.dtype, port.shape)
        for port, own in given
    }


def _meeting(bounds: Sequence[tuple[int, int]]) -> set[int]:
    """Returns the indices of memory ranges that overlap another one."""
    found = set[int]()
    last, end = -1, 0  # the piece that reaches furthest so far
    for number in sorted((each for each, (low, high) in enumerate(bounds) if low < high), key=bounds.__getitem__):
        low, high = bounds[number]
        if low < end:
            found |= {last, number}
        if high > end:
            last, end = number, high
    return found


def target_arrays(
    arrays: Sequence[Array], inputs: Sequence[Array], in_place: Sequence[Sequence[int]] = ()
) -> list[Array]:
    """Returns the arrays in which outputs are computed; temporary ones are copied to the caller's arrays afterwards.

    An output is computed in a temporary array if the caller's array is not contiguous, or overlaps an input or another
    output. It may overlap an input completely if `in_place` lists that input.
    """
    bounds = [byte_bounds(array) for array in (*arrays, *inputs)]
    for position, over in enumerate(in_place):
        own = next((each for each in over if bounds[len(arrays) + each] == bounds[position]), None)
        if own is not None and arrays[position].flags.carray:
            bounds[len(arrays) + own] = 0, 0
    meeting = _meeting(bounds)
    return [
        array if array.flags.carray and position not in meeting else np.empty(array.shape, array.dtype)
        for position, array in enumerate(arrays)
    ]


def copy_results(results: Mapping[str, Array], computed: Iterable[Array]) -> None:
    """Copies the outputs that were computed in other arrays to `results`."""
    for array, found in zip(results.values(), computed, strict=True):
        if array is not found:
            array[...] = found
