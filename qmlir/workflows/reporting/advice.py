"""Which rule of a recipe changes how a value of a quantized module is stored, and its text.

The type of a value is decided where the value is computed, or first taken, and what moves or limits values shares one
type (see `qmlir.quantization.groups`). A rule that names another operation would decide nothing, which is an error.
"""

import json
import re
from collections.abc import Iterator, Mapping

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.quantization.groups import Groups
from qmlir.quantization.profiles.keys import is_constant


def quoted(text: str) -> str:
    """A basic string of TOML. JSON's differ in one character, which JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def as_glob(name: str) -> str:
    """The pattern that matches exactly `name`: model's names may hold what patterns give a meaning to."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def rule(op: Operation | None, slot: Slot | None, **settings: str) -> str:
    """A rule for a slot of the node that `op` stands for, or of every operation; `settings` are in TOML."""
    lines = ["[[rule]]"]
    if op is not None:
        origins = origins_of(op)
        matcher = ("origin", as_glob(str(origins[0]))) if origins else ("op", op.name)
        lines.append(f"{matcher[0]} = {quoted(matcher[1])}")
    if slot is not None:
        lines.append(f"slot = {quoted(slot.value)}")
    lines += [f"{key} = {value}" for key, value in settings.items()]
    return "\n".join(lines)


def _is_fixed(op: Quantizable, slot: Slot) -> bool:
    return slot is Slot.OUTPUT and op.quantization_slots().fixed_output is not None


def _is_quantized(value: SSAValue) -> bool:
    return isinstance(element_type(value.type), UniformQuantizedType)


def _activations(op: Quantizable) -> Iterator[SSAValue]:
    """The quantized data that `op` takes, without weights and other constants."""
    for value, slot in op.operands_with_slots():
        is_known = isinstance(value.owner, Operation) and is_constant(value.owner)
        if slot not in (None, Slot.BIAS) and not is_known and _is_quantized(value):
            yield value


class Deciders:
    """For each quantized value of a function the operation whose slot decides its type."""

    def __init__(self, function: FuncOp) -> None:
        self._groups = Groups()
        self._first_users: dict[SSAValue, Quantizable] = {}
        operations = [op for op in function.walk() if isinstance(op, Quantizable)]
        for op in operations:
            taken = list(_activations(op))
            for value in taken:
                self._first_users.setdefault(value, op)
            self._groups.join_by(op, taken, [result for result in op.results if _is_quantized(result)])

    def of(self, value: SSAValue) -> tuple[Quantizable, Slot] | None:
        """The operation and its slot; `None` where nobody who could be named decides."""
        members = self._groups.members(value)
        for each in members:
            owner = each.owner
            if isinstance(owner, Quantizable) and not isinstance(owner, QuantizeCastOp) and not is_constant(owner):
                return owner, Slot.OUTPUT
        users = (self._first_users.get(each) for each in members)
        user = next((each for each in users if each is not None), None)
        return None if user is None else (user, Slot.INPUT)

    def has_fixed_range(self, value: SSAValue) -> bool:
        """Whether the range of `value` follows from its operation, as a softmax's: no calibrator has a say in it."""
        found = self.of(value)
        return found is not None and _is_fixed(*found)

    def rule(self, value: SSAValue, settings: Mapping[str, str]) -> str:
        """The rule that gives `value` other settings, empty where there is none."""
        found = self.of(value)
        return "" if found is None else rule(*found, **settings)
