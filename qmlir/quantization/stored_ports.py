"""Inputs and outputs that callers pass as stored integers: the settings `inputs_as` and `outputs_as`.

An entry is the type of all float inputs (or outputs), such as `i8`, or of one of them, such as `image=u8`. An entry
with a name overrides one without. `f32` leaves a port in float.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from qmlir.arithmetic.schemes import Storage
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.ir.diagnostics import emit_remark, nearest_name, op_error, text_error
from qmlir.ir.interfaces import Quantizable
from qmlir.ir.provenance import describe
from qmlir.ir.signature import MAIN, Port, inputs_of, outputs_of
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import functions_of
from qmlir.quantization.retyping import is_f32
from qmlir.quantization.settings import check_port_types
from qmlir.quantization.shared_scales import StatePair, states_of

_FLOAT = "f32"
_BYTE = Storage(8, is_signed=False)


@dataclass(frozen=True)
class StoredPort:
    """An input or output that callers pass as stored integers."""

    what: str
    """`input` or `output`."""

    name: str
    value: SSAValue
    storage: Storage
    position: int
    """The index among the inputs or outputs."""

    @property
    def setting(self) -> str:
        """The setting that asks for it, as on the command line and in Python."""
        return f"--{self.what}s-as {self.name}={_FLOAT} ({self.what}s_as={{'{self.name}': '{_FLOAT}'}})"

    def fault(self, found: str) -> str:
        """Returns the error message for a port that cannot have its storage, with the cause `found` and a remedy."""
        return f"{self.what} '{self.name}' cannot be {self.storage}: {found}; help: keep it in float, {self.setting}"


def _side(
    function: FuncOp, what: str, ports: Sequence[Port], values: Sequence[SSAValue], entries: Sequence[str],
    ignored: Iterable[SSAValue],
) -> list[StoredPort]:  # fmt: skip
    check_port_types(f"{what}s_as", entries)
    said = [(name, type_) for name, _, type_ in (entry.rpartition("=") for entry in entries)]
    names = [port.name for port in ports]
    if repeated := [name for name, count in Counter(name for name, _ in said).items() if count > 1]:
        subject = f"{what} '{repeated[0]}'" if repeated[0] else f"all {what}s"
        raise op_error(function, f"{what}s_as names several types for {subject}; help: pass one type")
    for name in filter(None, (name for name, _ in said)):
        if name not in names:
            listed = ", ".join(names) or "none"
            raise op_error(function, f"has no {what} '{name}'{nearest_name(name, names)} (available: {listed})")
    of_all = next((type_ for name, type_ in said if not name), _FLOAT)
    of_one, left_out = {name: type_ for name, type_ in said if name}, set(ignored)
    found: list[StoredPort] = []
    for position, (port, value) in enumerate(zip(ports, values, strict=True)):
        type_ = of_one.get(port.name, _FLOAT if value in left_out or not is_f32(value) else of_all)
        if type_ == _FLOAT:
            continue
        made = StoredPort(what, port.name, value, Storage.parse(type_), position)
        if not is_f32(value):
            raise op_error(function, made.fault(f"its type is {value.type}, which is not f32"))
        found.append(made)
    if of_all != _FLOAT and not any(map(is_f32, values)):
        raise op_error(function, f"has no {what} of f32, so {what}s_as={of_all} has no effect")
    return found


def stored_ports(
    function: FuncOp, inputs_as: Sequence[str], outputs_as: Sequence[str], states: Iterable[StatePair] = ()
) -> list[StoredPort]:
    """Returns the inputs and outputs of `function` that entries ask for, inputs first.

    An entry without a name does not apply to `states`. Raises `DiagnosticError` for an unknown type or name, and for a
    port that is not f32.
    """
    if not inputs_as and not outputs_as:
        return []
    end, pairs = function.body.block.last_op, list(states)
    assert isinstance(end, ReturnOp)
    takes, gives = [*function.body.block.args], [*end.operands]
    return [
        *_side(function, "input", inputs_of(function), takes, inputs_as, (pair.argument for pair in pairs)),
        *_side(function, "output", outputs_of(function), gives, outputs_as, (pair.returned for pair in pairs)),
    ]


def port_storages(
    module: ModuleOp, inputs_as: Sequence[str], outputs_as: Sequence[str], states: Sequence[str]
) -> dict[SSAValue, Storage]:
    """Returns the storage of each value that callers of `main` pass as stored integers.

    Raises `DiagnosticError` as `stored_ports` does.
    """
    if not inputs_as and not outputs_as:
        return {}
    main = next(each for each in functions_of(module) if each.sym_name.data == MAIN)
    return {each.value: each.storage for each in stored_ports(main, inputs_as, outputs_as, states_of(main, states))}


def wanted_storage(ports: Iterable[StoredPort], members: Iterable[SSAValue]) -> Storage | None:
    """Returns the storage that `ports` ask for values that share one type, or `None` if they ask for none.

    Raises `DiagnosticError` if they ask for different ones.
    """
    inside = set(members)
    asked = [port for port in ports if port.value in inside]
    other = next((port for port in asked if port.storage != asked[0].storage), None)
    if other is not None:
        first = asked[0]
        raise text_error(
            f"{first.what} '{first.name}' and {other.what} '{other.name}' share one type, so they cannot be "
            f"{first.storage} and {other.storage}; help: ask for the same type"
        )
    return asked[0].storage if asked else None


def check_decided(function: FuncOp, ports: Iterable[StoredPort], decisions: Decisions) -> None:
    """Raises `DiagnosticError` if `decisions` do not quantize a port as its caller passes it."""
    for port in ports:
        if (found := _other(port, decisions)) is not None:
            raise op_error(function, port.fault(found))
        type_ = decisions.values[port.value]
        if (port.what, port.storage) == ("input", _BYTE) and not type_.zero_point and 0.5 < type_.scale < 1:
            reach = f"input '{port.name}' reaches {255 * type_.scale:.4g} in the calibration samples"
            emit_remark(
                function,
                f"{reach}, so its scale is {type_.scale:.4g}, and pixels from 0 to 255 are not its stored integers; "
                "help: add a sample that reaches 255",
            )


def storage_fault(storage: Storage, type_: object) -> str | None:
    """Returns why integers of `storage` are not those of `type_`, or `None` if they are."""
    if not isinstance(type_, UniformQuantizedType):
        return f"it is not quantized, but {type_}"
    if type_.granularity is not Granularity.TENSOR:
        return "it has a scale for each channel"
    if (type_.bits, type_.is_signed) == (storage.bits, storage.is_signed):
        return None
    return f"it is quantized as {'i' if type_.is_signed else 'u'}{type_.bits}"


def _other(port: StoredPort, decisions: Decisions) -> str | None:
    if (type_ := decisions.values.get(port.value)) is not None:
        return storage_fault(port.storage, type_)
    owner = port.value.owner
    around = [owner] if isinstance(owner, Operation) else [use.operation for use in port.value.uses]
    floats = [op for op in around if not isinstance(op, ReturnOp)]
    if not floats:
        return "no operation computes it" if port.what == "output" else "no operation reads it"
    op = next((each for each in floats if each in decisions.left_in_float), floats[0])
    does = "computes" if owner is op else "reads"
    reason = decisions.left_in_float.get(op)
    if reason is None and not isinstance(op, Quantizable):
        reason = "it has no integer kernel"
    cause = "" if reason is None else f" ({reason.partition('; help: ')[0]})"
    return f"{describe(op)} {does} it in float{cause}"
