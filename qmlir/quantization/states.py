"""States: inputs that a caller takes from the outputs of the call before, such as a cache of keys and values.

They are named in pairs, `state=next_state`. A star stands for the same text on both sides: `past_*=present_*`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, SSAValue

from qmlir.ir.diagnostics import nearest_name, op_error, text_error
from qmlir.ir.signature import inputs_of, outputs_of


@dataclass(frozen=True)
class StatePair:
    """An input of a function, and the output that is this input of the next call."""

    enters: str
    leaves: str
    argument: BlockArgument
    end: ReturnOp
    place: int
    """Which operand of `end` leaves."""

    @property
    def returned(self) -> SSAValue:
        """The value that leaves."""
        return self.end.operands[self.place]


def states_of(function: FuncOp, entries: Iterable[str]) -> list[StatePair]:
    """The states of `function` that `entries` name. Raises `DiagnosticError` where one names none."""
    end = function.body.block.last_op
    assert isinstance(end, ReturnOp)
    inputs, outputs = ([port.name for port in ports] for ports in (inputs_of(function), outputs_of(function)))
    found: dict[str, StatePair] = {}
    for entry in entries:
        pairs = list(_pairs(entry, inputs))
        if not pairs:
            name = entry.partition("=")[0]
            raise op_error(function, f"has no input '{name}' to use as a state{nearest_name(name, inputs)}")
        for enters, leaves in pairs:
            if leaves not in outputs:
                raise op_error(
                    function, f"has no output '{leaves}' for state '{enters}'{nearest_name(leaves, outputs)}"
                )
            if enters in found or leaves in (each.leaves for each in found.values()):
                raise op_error(function, f"state '{enters}={leaves}' reuses a name of another state")
            place = outputs.index(leaves)
            found[enters] = StatePair(enters, leaves, function.body.block.args[inputs.index(enters)], end, place)
    return list(found.values())


def _pairs(entry: str, inputs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The pairs of names that an entry stands for."""
    enters, equals, leaves = entry.partition("=")
    if not enters or not equals or not leaves or enters.count("*") != leaves.count("*"):
        raise text_error(f"state must be spelled input=output or past_*=present_*, but got '{entry}'")
    pattern = re.compile(re.escape(enters).replace(r"\*", "(.*)"))
    for name in inputs:
        if (match := pattern.fullmatch(name)) is not None:
            texts = iter(match.groups())
            yield name, "".join(next(texts) if each == "*" else each for each in re.split(r"(\*)", leaves))
