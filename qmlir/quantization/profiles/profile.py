"""The profile of a model, its readable JSON file, and the digest of the profiled model."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from math import inf, isfinite
from os import PathLike
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import InterpretationError

from qmlir.arithmetic.statistics import AGREEMENT, Statistics, sum_of
from qmlir.dialects.calib.ops import ObserveOp
from qmlir.dialects.nn.base import plain_type
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.decomposition import COMPONENTS
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, Severity, emit, text_error
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import inputs_of, outputs_of
from qmlir.quantization.profiles.keys import functions_of, is_float, unobserved
from qmlir.text.data import parse_data
from qmlir.text.files import access, keep_sources, note_sources, path_of
from qmlir.text.sources import read_source
from qmlir.text.tables import Readable, aligned, counted
from qmlir.text.writing import write_file

# The digest of a model, which shows if a profile belongs to the model.
#
# There are two digests: one of the structure (ports, float operations with their provenance, properties and operands)
# and one of the weights. They do not depend on names of SSA values, observers, ranges in types, or shapes, so a profile
# is valid for every batch size of a model. They also skip values computed only from constants, which may be folded, and
# integers, which represent shapes.


@dataclass(frozen=True)
class ModelDigest:
    """The digests that identify a profiled model."""

    structure: str
    weights: str
    """The digest of the weights; empty if the text of the module omitted weights."""


_FEW = 64
"""The number of elements that distinguish most tensors from splats."""


def _sha256(lines: Iterator[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _properties(op: Operation) -> str:
    """Returns the properties that differ from their defaults, as the text of the operation does.

    Properties that can also be operands are skipped, since shapes and bounds can depend on the batch size, and so are
    the ranges of parts.
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
    arguments = filter(is_float, function.body.blocks[0].args)
    numbers: dict[SSAValue, int] = {argument: number for number, argument in enumerate(arguments)}
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
    """Yields one line for each constant; a splat has one element, since it may have been expanded or not."""
    for function in functions_of(module):
        for op in function.body.walk():
            if not isinstance(op, ConstantOp) or not is_float(op.result):
                continue
            array = op.array
            flat = array.reshape(-1)
            # Most tensors differ in the first elements, and need not be read entirely.
            is_splat = array.size > 0 and all(bool((part == flat[0]).all()) for part in (flat[:_FEW], flat))
            data = flat[:1].tobytes() if is_splat else array.tobytes()
            shape = "" if is_splat else "x".join(map(str, array.shape))
            yield f"{'+'.join(map(str, origins_of(op)))} {shape} {array.dtype} {hashlib.sha256(data).hexdigest()}"


def model_digest(module: ModuleOp) -> ModelDigest:
    """Returns the digests of the structure and of the weights of `module`."""
    structure = (line for function in functions_of(module) for line in _function_lines(function))
    try:
        weights = _sha256(iter(sorted(_weight_lines(module))))
    except InterpretationError:  # the text omitted weights
        weights = ""
    return ModelDigest(_sha256(structure), weights)


# The profile of a model, and its file: readable JSON that can be compared.
#
# A profile contains the recorded statistics of each value (ranges, sums, histograms) by its key. It never contains
# scales, because schemes and calibrators are chosen later. In the file, keys are sorted, each value is a block, and
# numbers are exact. Derived numbers (mean, std) are included for human readers. If a person edits a range, and the
# statistics no longer agree with it or with each other, only the range is used. Files of version 1, with exact sums,
# can also be read.

FORMAT = "qmlir-profile"
VERSION, OLD_VERSION = 2, 1

_EXTREME_SAMPLES, _RANGE = "extreme_samples", "range"
_DERIVED = ("mean", "std")
"""The fields that follow from others, for human readers."""

_ABSENT: Mapping[str, Any] = {
    "axis": None, "axis_minima": [], "axis_maxima": [], "batches": None, "kept": {}, "infinities": [0, 0],
}  # fmt: skip
"""The fields that an entry lacks if they have these values."""
_HEAD = ("value", "minimum", "maximum", "mean", "deviation")


class ProfileError(ValueError):
    """Raised if a text is not a valid profile; the message states why."""


@dataclass(frozen=True, repr=False)
class Profile(Readable):
    """The recorded statistics of each value of a model. It contains no scales; `quantize` chooses them.

    Example:
        >>> profile = qmlir.profile("docs/examples/digits.onnxtxt", np.eye(4, dtype=np.float32))
        >>> profile.samples, profile.values["image"].maximum
        (4, 1.0)
    """

    model: ModelDigest
    """Digests of the structure and of the weights of the profiled model."""

    samples: int
    """Number of samples; 0 if unknown, because the model came with its statistics."""

    values: Mapping[str, Statistics]
    """Statistics by the key of the value: the name of an input, or the provenance of an operation."""

    passes: str = ""
    """The text of the pipeline that ran on the model before profiling."""

    tool: str = field(default_factory=lambda: f"qmlir {version('qmlir')}")
    """Name and version of the tool that recorded the profile."""

    extreme_samples: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """For each value, the indices of the samples with its smallest and largest element. If the model has a static batch
    size, the index is that of the first sample in the batch. Some values may be missing."""

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Ranges of values without statistics, because the file contains only a range, or an edited one that contradicts
    the statistics."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the profile to a JSON file, atomically.

        Args:
            path: The file to write.

        Raises:
            DiagnosticError: The file cannot be written, or is an input of the profile.
        """
        with access():
            note_sources(self)
            write_file(path_of(path), self.to_text())

    @staticmethod
    def load(path: str | PathLike[str]) -> "Profile":
        """Reads and checks a profile file.

        Args:
            path: The file to read.

        Returns:
            The profile.

        Raises:
            DiagnosticError: The file cannot be read, or is not a valid profile.
        """
        try:
            with access() as run:
                found = Profile.from_text(read_source(path_of(path)))
                keep_sources(found, run)
            return found
        except ProfileError as error:
            raise text_error(f"cannot read profile '{path}': {error}") from error

    def text(self) -> str:
        """Formats a table of the values.

        Returns:
            A row for each value in the order of `values`, with its minimum, maximum, mean and standard deviation.
        """
        rows = [(key, *_figures(each)) for key, each in self.values.items()]
        rows += [(key, *(f"{end:.6g}" for end in ends), "", "") for key, ends in self.ranges.items()]
        of = f" of {counted(self.samples, 'sample')}" if self.samples else ""
        head = f"{counted(len(rows), 'value')}{of}\n"
        table = ["", *aligned([_HEAD, *rows], _HEAD[1:])] if rows else []
        return head + "".join(f"{line}\n" for line in table)

    def to_text(self) -> str:
        """Serializes the profile as JSON.

        Returns:
            The content of the file that `save` writes. Equal profiles have equal text.
        """
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        head = {
            "format": FORMAT,
            "model": {"structure": self.model.structure, "weights": self.model.weights},
            "passes": self.passes,
            "samples": self.samples,
            "tool": self.tool,
        }
        yield "{\n"
        for name, content in head.items():
            yield f"  {_json(name)}: {_json(content)},\n"
        yield '  "values": {'
        for position, key in enumerate(sorted({**self.values, **self.ranges})):
            yield f"{',' if position else ''}\n    {_json(key)}: {{"
            entry: dict[str, Any] = {_RANGE: list(self.ranges[key])} if key in self.ranges else _entry(self.values[key])
            if key in self.extreme_samples:
                entry[_EXTREME_SAMPLES] = list(self.extreme_samples[key])
            yield ",".join(f"\n      {_json(name)}: {_json(entry[name])}" for name in sorted(entry))
            yield "\n    }"
        yield f'\n  }},\n  "version": {VERSION}\n}}\n'

    @staticmethod
    def from_text(text: str) -> "Profile":
        """Parses text that `to_text` returned. If a person has edited a range, statistics that contradict it are
        ignored, with a remark.

        Args:
            text: The JSON text.

        Returns:
            The profile.

        Raises:
            ProfileError: The text is not a valid profile. It is a `ValueError`.
        """
        found = _parsed(text)
        if not isinstance(found, dict) or "format" not in found:
            raise ProfileError(f'missing "format": "{FORMAT}"')
        head = cast(dict[str, Any], found)
        if head["format"] != FORMAT:
            raise ProfileError(f"format must be '{FORMAT}', but got {head['format']!r}")
        version_ = head.get("version")
        if version_ not in (OLD_VERSION, VERSION):
            known = f"this qmlir reads versions {OLD_VERSION} and {VERSION}"
            raise ProfileError(f"unsupported version {version_!r} ({known})")
        model, values = _of_type(head, "model", dict), _of_type(head, "values", dict)
        digest = ModelDigest(_of_type(model, "structure", str), _of_type(model, "weights", str))
        samples = _of_type(head, "samples", int)
        if samples < 0:
            raise ProfileError(f"samples must be >= 0, but got {samples}")
        extremes = {key: known for key, entry in values.items() if (known := _extreme_samples(key, entry))}
        statistics: dict[str, Statistics] = {}
        ranges: dict[str, tuple[float, float]] = {}
        edited: list[str] = []
        for key, entry in values.items():
            try:
                if isinstance(entry, dict) and cast(dict[str, Any], entry).keys() - {_EXTREME_SAMPLES} == {_RANGE}:
                    ranges[key] = _range(key, cast(dict[str, Any], entry))
                else:
                    statistics[key] = _statistics(key, entry, is_old=version_ == OLD_VERSION)
            except _ContradictionError as error:
                ranges[key] = _range(key, cast(dict[str, Any], entry))
                edited.append(f"'{key}' ({error})")
        if edited:
            more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
            text = f"ignoring statistics that contradict the range of {edited[0]}{more}; only the range is used"
            emit(Diagnostic(Severity.REMARK, text))
        passes, tool = _of_type(head, "passes", str), _of_type(head, "tool", str)
        return Profile(digest, samples, statistics, passes, tool, extremes, ranges)


def _figures(of: Statistics) -> tuple[str, ...]:
    """Returns the numbers that `_HEAD` names, empty for a value without elements."""
    if not of.count:
        return ("",) * 4
    return f"{of.minimum:.6g}", f"{of.maximum:.6g}", f"{of.mean:.4g}", f"{of.deviation:.4g}"


def _json(content: Any) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _entry(statistics: Statistics) -> dict[str, Any]:
    fields = statistics.to_dict()
    absent = [name for name in ("batches", "kept", "infinities") if fields[name] == _ABSENT[name]]
    absent += ("axis", "axis_minima", "axis_maxima") if statistics.axis is None else ()
    fields = {name: each for name, each in fields.items() if name not in absent}
    return {**fields, "mean": statistics.mean, "std": statistics.deviation} if statistics.count else fields


def _parsed(text: str) -> Any:
    try:
        return parse_data(text, "it").value
    except DiagnosticError as error:
        raise ProfileError(error.diagnostic.message) from error


def _of_type(fields: dict[str, Any], name: str, type_: type[Any]) -> Any:
    if name not in fields:
        raise ProfileError(f'missing field "{name}"')
    if type(fields[name]) is not type_:
        wanted = {dict: "an object", list: "a list", str: "a string", int: "a whole number"}[type_]
        raise ProfileError(f'field "{name}" must be {wanted}, but got {type(fields[name]).__name__}')
    return fields[name]


def _extreme_samples(key: str, entry: Any) -> tuple[int, int] | None:
    """Returns the samples with the extremes of a value; `None` if the file does not contain them."""
    found: Any = cast(dict[str, Any], entry).get(_EXTREME_SAMPLES) if isinstance(entry, dict) else None
    if found is None:
        return None
    numbers = cast(list[Any], found) if isinstance(found, list) else []
    if len(numbers) != 2 or not all(type(each) is int and each >= 0 for each in numbers):
        wanted = f'field "{_EXTREME_SAMPLES}" must be two numbers >= 0'
        raise ProfileError(f"value '{key}': {wanted}, but got {_json(found)}")
    return numbers[0], numbers[1]


class _ContradictionError(ProfileError):
    """Raised if the statistics of a value contradict its range, as after an edit of the range."""


def _range(key: str, entry: dict[str, Any]) -> tuple[float, float]:
    """Returns the range of an entry. Raises `ProfileError` if it is invalid."""
    ends = cast(list[Any], entry[_RANGE]) if isinstance(entry[_RANGE], list) else []
    if len(ends) != 2 or not all(type(each) in (int, float) and isfinite(each) for each in ends) or ends[0] > ends[1]:
        wanted = f'field "{_RANGE}" must be two ascending finite numbers'
        raise ProfileError(f"value '{key}': {wanted}, but got {_json(entry[_RANGE])}")
    return float(ends[0]), float(ends[1])


def _statistics(key: str, entry: Any, *, is_old: bool) -> Statistics:
    try:
        if not isinstance(entry, dict):
            raise ProfileError(f"expected an object, but got {type(entry).__name__}")
        given = {name: each for name, each in cast(dict[str, Any], entry).items() if name != _EXTREME_SAMPLES}
        _check_sums(given)
        if is_old:
            given = _with_float_sums(given)
        statistics = Statistics.from_dict({**_ABSENT, **given})
        _check(statistics)
        expected = _entry(statistics)
    except _ContradictionError:
        raise
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise ProfileError(f"value '{key}': {' '.join(str(error).split())}") from error
    if is_old:
        _check_derived(key, given, expected)
    for name in sorted({*given, *expected}):
        if given.get(name) != expected.get(name):
            message = f'field "{name}" contradicts the other fields'
            if name in _DERIVED and type(given.get(name)) is float:
                raise _ContradictionError(message)
            raise ProfileError(f"value '{key}': {message}")
    return statistics


def _check_sums(entry: dict[str, Any]) -> None:
    """Rejects invalid sums before a huge integer is built from one."""
    moments, batches = _of_type(entry, "moments", dict), entry.get("batches")
    sums = [moments.get(name) for name in ("total", "squares")]
    if batches is not None:
        sums += _of_type(_of_type(entry, "batches", dict), "totals", list)
    for each in sums:
        sum_of(each)


def _with_float_sums(entry: dict[str, Any]) -> dict[str, Any]:
    """Returns an entry of version 1 in the current format: sums are floats, and the sum of sizes is removed."""
    moments = {name: each for name, each in entry["moments"].items() if name != "sizes"}
    moments |= {name: sum_of(moments[name]) for name in ("total", "squares")}
    if (batches := entry.get("batches")) is not None:
        return {**entry, "moments": moments, "batches": {**batches, "totals": [*map(sum_of, batches["totals"])]}}
    return {**entry, "moments": moments}


def _check_derived(key: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Checks the mean and deviation of exact sums, and replaces those in `given` by the values from f64 sums."""
    for name in {*_DERIVED} & given.keys() & expected.keys():
        low, high = cast(list[float], expected["range"])
        if not abs(given[name] - expected[name]) <= AGREEMENT * max(-low, high):
            raise _ContradictionError(f'field "{name}" contradicts the other fields')
        given[name] = expected[name]


def _check(statistics: Statistics) -> None:
    """Raises `ValueError` if no set of values can have these statistics."""
    moments, histogram = statistics.moments, statistics.histogram
    if min(statistics.infinities) < 0:
        raise ValueError(f"infinities must be two counts >= 0, but got {list(statistics.infinities)}")
    if statistics == Statistics(infinities=statistics.infinities):
        return  # only infinities, or no elements in any sample
    if moments.count < 1:
        raise ValueError(f"count must be >= 1, but got {moments.count}")
    if not isfinite(statistics.minimum) or not isfinite(statistics.maximum):
        raise ValueError("range must be finite")
    slack = AGREEMENT * max(-statistics.minimum, statistics.maximum)  # for roundings of the sum
    if not statistics.minimum - slack <= moments.mean <= statistics.maximum + slack:
        ends = f"[{statistics.minimum}, {statistics.maximum}]"
        raise _ContradictionError(f"mean must lie in the range {ends}, but got {moments.mean}")
    if (histogram.counts < 0).any():
        raise ValueError(f"histogram counts must be >= 0, but got {int(histogram.counts.min())}")
    if histogram.counts.ndim != 1:
        raise ValueError(f"histogram counts must be a list of numbers, but got {histogram.counts.ndim} dimensions")
    if not histogram.counts.size or histogram.total != moments.count:
        raise _ContradictionError(f"the histogram must count all {moments.count} values, but counts {histogram.total}")
    edges = histogram.edges
    if not (edges[0] <= statistics.minimum <= edges[1] and edges[-2] <= statistics.maximum <= edges[-1]):
        ends = f"[{statistics.minimum}, {statistics.maximum}]"
        raise _ContradictionError(f"the range {ends} is not that of the histogram, [{edges[0]}, {edges[-1]}]")
    batches = statistics.batches
    if batches is not None:
        if batches.count < 1:
            raise ValueError(f"number of batches must be >= 1, but got {batches.count}")
        for low, high in (batches.mean, batches.first, batches.moving):
            if not -inf < low <= high < inf:
                raise ValueError(f"invalid average range of batches: [{low}, {high}]")
    if (statistics.axis is None) != (statistics.axis_minima.size == 0):
        raise ValueError("axis and per-axis ranges must be given together")
    if statistics.axis is not None:
        low, high = statistics.axis_minima, statistics.axis_maxima
        if low.shape != high.shape or (low > high).any():
            raise ValueError("each per-axis minimum must be at most its maximum")
        if low.min() != statistics.minimum or high.max() != statistics.maximum:
            raise _ContradictionError("the per-axis ranges do not add up to the range")
