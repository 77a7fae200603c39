"""Recipe rules that change the type of a value of a quantized module.

The type of a value is decided where it is computed, or first read, and values that are only moved or limited share one
type (see `qmlir.quantization.shared_scales`). A rule that names another operation would decide nothing, which is an
error.
"""

from collections.abc import Iterator
from glob import escape

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of
from qmlir.quantization.profiles.keys import is_constant
from qmlir.quantization.recipe_text import table_text
from qmlir.quantization.shared_scales import Groups


def rule(op: Operation | None, slot: Slot | None, **settings: object) -> str:
    """Returns the text of a rule for a slot of the node that `op` implements, or of every operation."""
    matchers: dict[str, object] = {}
    if op is not None:
        origins = origins_of(op)
        matchers |= {"origin": escape(str(origins[0]))} if origins else {"op": op.name}
    if slot is not None:
        matchers["slot"] = slot.value
    return table_text({**matchers, **settings})


def _is_fixed(op: Quantizable, slot: Slot) -> bool:
    return slot is Slot.OUTPUT and op.quantization_slots().fixed_output is not None


def _is_quantized(value: SSAValue) -> bool:
    return isinstance(element_type(value.type), UniformQuantizedType)


def _activations(op: Quantizable) -> Iterator[SSAValue]:
    """Yields the quantized data operands of `op`, without weights and other constants."""
    for value, slot in op.operands_with_slots():
        is_known = isinstance(value.owner, Operation) and is_constant(value.owner)
        if slot not in (None, Slot.BIAS) and not is_known and _is_quantized(value):
            yield value


class Deciders:
    """Finds, for each quantized value of a function, the operation whose slot decides its type."""

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
        """Returns the deciding operation and its slot; `None` if it is not an operation that a rule can name."""
        members = self._groups.members(value)
        for each in members:
            owner = each.owner
            if isinstance(owner, Quantizable) and not isinstance(owner, QuantizeCastOp) and not is_constant(owner):
                return owner, Slot.OUTPUT
        users = (self._first_users.get(each) for each in members)
        user = next((each for each in users if each is not None), None)
        return None if user is None else (user, Slot.INPUT)

    def has_fixed_range(self, value: SSAValue) -> bool:
        """Returns true if the operation fixes the range of `value`, as a softmax does.

        No calibrator applies to such a value.
        """
        found = self.of(value)
        return found is not None and _is_fixed(*found)

    def rule(self, value: SSAValue, **settings: object) -> str:
        """Returns the rule that gives `value` other settings; empty if there is none."""
        found = self.of(value)
        return "" if found is None else rule(*found, **settings)
