"""Weights outside attributes: resources in the text, and safetensors files that the module names by key and digest."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import cast

from safetensors import (
    SafetensorError,
    deserialize,  # pyright: ignore[reportUnknownVariableType]
    safe_open,  # pyright: ignore[reportUnknownVariableType]
)
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, TypedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from qmlir.ir.builtin_types import AnyDense, dense, ranked_tensor, tensor
from qmlir.text.data import parse_data
from qmlir.text.elements import dense_dtype
from qmlir.text.files import MAPPED, note_input, read_regular, read_weights

# Resources: the bytes of `dense_resource<key>`, which a text has in `{-# dialect_resources … #-}` at its end.
#
# xDSL keeps them in one table of its builtin dialect for all modules of the process. If another module uses a key for
# different bytes, the key is therefore renamed on reading.

_BLOB = re.compile(r"0x(?:[0-9A-Fa-f]{2}){4,}")
"""The format of a resource: the alignment in four bytes, then the data."""


def is_blob(text: str) -> bool:
    """Returns True if `text` contains the bytes of a resource as hexadecimal digits."""
    return _BLOB.fullmatch(text) is not None


def resource_key(interface: OpAsmDialectInterface, key: str, blob: str) -> str:
    """Returns the key of `blob` in the table of `interface`: `key`, or `key_0`, `key_1`, … if other bytes have it.

    An empty `blob` stands for a resource that the text doesn't define; it gets a key without bytes.
    """
    for name in itertools.chain([key], (f"{key}_{number}" for number in itertools.count())):
        known = interface.lookup(name)
        if not known and blob:
            if known is None:
                interface.declare_resource(name)
            interface.parse_resource(name, blob)
        if not known or known == blob:
            return name
    raise AssertionError("an infinite iterator ended")


# Weights next to the text: a safetensors file that the module names by key and digest.
#
# In memory a weight is a dense attribute over shared bytes. In text a large one is `#nn.weights<"model.safetensors",
# "w0", "sha256:…"> : tensor<…>`; our parser resolves it to the bytes on reading, stock xDSL keeps the reference.
# `#nn.weights<elided>` marks weights that were omitted on purpose.

_ELIDED = "elided"


@irdl_attr_definition
class ExternalWeightsAttr(TypedAttribute):
    """A weight stored outside the text: its type, and either its file, key and digest, or `elided`."""

    name = "nn.weights"

    file: StringAttr = param_def()
    key: StringAttr = param_def()
    digest: StringAttr = param_def()
    type: TensorType[Attribute] = param_def()

    @property
    def is_elided(self) -> bool:
        """True if the data was omitted, so that no file contains it."""
        return not self.file.data

    @staticmethod
    def elided(type_: TensorType[Attribute]) -> "ExternalWeightsAttr":
        """Returns a weight whose data was omitted."""
        return ExternalWeightsAttr(StringAttr(""), StringAttr(""), StringAttr(""), type_)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        start = parser.pos
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword(_ELIDED) is not None:
                fields = ["", "", ""]
            else:
                fields = [parser.parse_str_literal()]
                for _ in range(2):
                    parser.parse_punctuation(",")
                    fields.append(parser.parse_str_literal())
                if not fields[0]:
                    parser.raise_error(f"weights must name their file, or be '{_ELIDED}'", start)
        parser.parse_punctuation(":")
        position = parser.pos
        found = parser.parse_type()
        type_ = ranked_tensor(found)
        if type_ is None or not type_.has_static_shape():
            parser.raise_error(f"weights must have a tensor type of static shape, but got {found}", position)
        return [*map(StringAttr, fields), type_]

    def print_without_type(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.is_elided:
                printer.print_string(_ELIDED)
            else:
                fields = (self.file.data, self.key.data, self.digest.data)
                printer.print_list(fields, printer.print_string_literal)

    def print_parameters(self, printer: Printer) -> None:
        self.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)


_LENGTH = 8
"""The bytes of the length of a header, and the alignment of the data after it."""

_METADATA = "__metadata__"


def digest_of(data: bytes) -> str:
    """Returns the digest of weights in the notation of the text."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class WeightsError(ValueError):
    """Raised if weights that the text refers to are unavailable; the message says why."""


def tensors_of(content: bytes) -> dict[str, bytes]:
    """Returns the bytes of each tensor in a safetensors file. Raises `SafetensorError` if `content` is malformed."""
    # The types in the file are ignored: the text determines the types, the file the bytes.
    found = cast(list[tuple[str, dict[str, bytearray]]], deserialize(content))
    return {key: bytes(tensor["data"]) for key, tensor in found}


def _views_of(path: Path) -> dict[str, bytes]:
    """Returns the bytes of each tensor like `tensors_of`, as views of the mapped file."""
    with safe_open(path, "np"):  # checks the header
        content = read_weights(path, 0, path.stat().st_size)
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    header = parse_data(bytes(content[_LENGTH:start]), f"'{path}'").entries()
    places = {key: [start + end.integer() for end in header[key]["data_offsets"]] for key in header if key != _METADATA}
    return {key: cast(bytes, content[low:high]) for key, (low, high) in places.items()}


_REFERENCE = re.compile(r'nn\.weights<("(?:[^"\\\n]|\\.)*"), "([^"\n]*)", "(sha256:[0-9a-f]{64})">')


def names_weights(text: str, path: Path) -> bool:
    """Returns True if the text of a module refers to exactly the tensors in the weights file at `path`."""
    stream = StringIO()
    Printer(stream).print_string_literal(path.name)
    found = {key: digest for file, key, digest in _REFERENCE.findall(text) if file == stream.getvalue()}
    try:
        tensors = tensors_of(read_regular(path, follow=False))
    except (OSError, SafetensorError):
        return False
    return bool(found) and {key: digest_of(data) for key, data in tensors.items()} == found


@dataclass
class WeightsReader:
    """Reads weights from the files in `directory`, each file and each tensor once."""

    directory: Path | None
    _files: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])
    _checked: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])

    def load(self, weights: ExternalWeightsAttr) -> AnyDense:
        """Returns the dense attribute that `weights` refers to. Raises `WeightsError` if it is unavailable."""
        name, key = weights.file.data, weights.key.data
        tensors = self._files.get(name)
        if tensors is None:
            tensors = self._files[name] = self._read(name)
        if key not in tensors:
            raise WeightsError(f"weights file '{name}' has no tensor '{key}'")
        data = tensors[key]
        reference = (name, key, weights.digest.data)
        if reference not in self._checked:
            if digest_of(data) != weights.digest.data:
                raise WeightsError(
                    f"tensor '{key}' of weights file '{name}' was modified: its digest differs; write the module again"
                )
            self._checked.add(reference)
        return dense_weights(weights, data)

    def _read(self, name: str) -> dict[str, bytes]:
        if self.directory is None:
            raise WeightsError(f"cannot find weights file '{name}': the IR was not read from a file")
        try:
            root = self.directory.resolve()
            path = (root / name).resolve()
        except ValueError as error:
            raise WeightsError(f"weights file {name!r} is not a file name: {error}") from error
        if not path.is_relative_to(root):
            raise WeightsError(f"weights file '{name}' must be in the folder of the module")
        try:
            note_input(path)
            if path.is_file() and path.stat().st_size >= MAPPED:
                return _views_of(path)
            return tensors_of(read_regular(path))
        except OSError as error:
            raise WeightsError(f"cannot read weights file '{name}': {error.strerror}") from error
        except SafetensorError as error:
            raise WeightsError(f"weights file '{name}' is not a safetensors file: {error}") from error


def dense_weights(weights: ExternalWeightsAttr, data: bytes) -> AnyDense:
    """Returns a dense attribute with the type of `weights` and the bytes `data`.

    Raises `WeightsError` if the number of bytes doesn't match the type.
    """
    element = weights.type.get_element_type()
    dtype = dense_dtype(element)
    if dtype is None:
        raise WeightsError(f"weights cannot have elements of type {element}")
    expected = dtype.itemsize * math.prod(weights.type.get_shape())
    if len(data) != expected:
        raise WeightsError(
            f"tensor '{weights.key.data}' of weights file '{weights.file.data}' must have {expected} bytes "
            f"({weights.type}), but got {len(data)}"
        )
    return dense(data, weights.type)


@dataclass
class WeightsWriter:
    """Collects the weights of one module for a safetensors file named `file`; equal bytes are stored once."""

    file: str
    _kept: dict[bytes, tuple[StringAttr, StringAttr]] = field(
        default_factory=dict[bytes, tuple[StringAttr, StringAttr]]
    )

    def add(self, attribute: AnyDense) -> ExternalWeightsAttr:
        """Adds the bytes of `attribute`, and returns the reference that the text prints."""
        data = attribute.data.data
        if data not in self._kept:
            self._kept[data] = StringAttr(f"w{len(self._kept)}"), StringAttr(digest_of(data))
        key, digest = self._kept[data]
        return ExternalWeightsAttr(StringAttr(self.file), key, digest, tensor(attribute.get_type()))

    def __bool__(self) -> bool:
        return bool(self._kept)

    def pieces(self) -> list[bytes]:
        """Returns the content of the file in pieces: its header, and the bytes of each weight without a copy.

        The text determines the types; the file holds bytes. The header is the one that the library writes.
        """
        kept = sorted((key.data, data) for data, (key, _) in self._kept.items())
        ends = list(itertools.accumulate((len(data) for _, data in kept), initial=0))
        places = zip(kept, itertools.pairwise(ends), strict=True)
        entries = {key: {"dtype": "U8", "shape": [len(data)], "data_offsets": ends} for (key, data), ends in places}
        header = json.dumps(entries, separators=(",", ":")).encode()
        header += b" " * (-len(header) % _LENGTH)
        return [len(header).to_bytes(_LENGTH, "little"), header, *(data for _, data in kept)]
