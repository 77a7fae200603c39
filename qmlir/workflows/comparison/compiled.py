"""A module as a compiled program, with the values inside: a second program gives them beside the outputs.

Asking for the values inside keeps them in memory, so fewer operations are fused; the numbers are the same, since every
operation computes what the interpreter does. The outputs are those of the program that a user has.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import IO

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute

from qmlir.ir.signature import Port, inputs_of, outputs_of, set_ports
from qmlir.ir.verification import verify
from qmlir.quantization.profiles.keys import ENTRY
from qmlir.specialization.inputs import function_of
from qmlir.targets.cpu.compiler import compile_module
from qmlir.workflows.comparison.errors import Array
from qmlir.workflows.comparison.names import module_names
from qmlir.workflows.comparison.subjects import ModuleSubject, called, real, real_outputs


class CompiledSubject(ModuleSubject):
    """`module`, float or quantized, compiled for this machine.

    With `outputs_only` nothing but the program itself is compiled. Values in other functions than `function`, and
    inside regions of operations, are missing.
    """

    def __init__(
        self,
        module: ModuleOp,
        name: str = "the program",
        *,
        function: str = ENTRY,
        outputs_only: bool = False,
        threads: int = 1,
        isa: str = "host",
        progress: IO[str] | None = None,
    ):
        super().__init__(module, name, function=function)
        self._program = compile_module(module, threads=threads, isa=isa, function=function, progress=progress)
        self._places: dict[str, list[tuple[str, Attribute]]] = {}
        self._watched = None
        if not outputs_only:
            watched, self._places = with_values(module, function)
            self._watched = compile_module(watched, threads=threads, isa=isa, function=function, progress=progress)
        known = {*self._places, *(f"output:{each}" for each in self._outputs), *self._found.inputs.values()}
        self.names = [name for name in self.names if name.key in known]

    def values(self, inputs: Mapping[str, Array]) -> Mapping[str, tuple[Array, ...]]:
        """See `Subject`."""
        found: dict[str, tuple[Array, ...]] = {key: (inputs[port],) for port, key in self._found.inputs.items()}
        if self._watched is not None:
            inside = called(self._watched, inputs, self.name)
            for key, places in self._places.items():
                found[key] = tuple(real(inside[output], type_) for output, type_ in places)
        return found | real_outputs(called(self._program, inputs, self.name), self._outputs)


def with_values(module: ModuleOp, function: str = ENTRY) -> tuple[ModuleOp, dict[str, list[tuple[str, Attribute]]]]:
    """A clone of `module` whose `function` gives its named values too, and the names and types of these by key."""
    clone = module.clone()
    target = function_of(clone, function)
    keys = module_names(clone, function).values
    block = target.body.blocks[0]
    ending = block.last_op
    assert isinstance(ending, ReturnOp)
    values = [value for op in block.ops for value in op.results if value in keys]
    taken = {port.name for port in outputs_of(target)}
    turns: Counter[str] = Counter()
    places: defaultdict[str, list[tuple[str, Attribute]]] = defaultdict(list)
    ports: list[Port] = []
    for value in values:
        key = keys[value]
        name = f"value:{key}@{turns[key]}"
        while name in taken:
            name += "'"
        taken.add(name)
        turns[key] += 1
        places[key].append((name, value.type))
        ports.append(Port(name, value.type))
    inputs, outputs = inputs_of(target), (*outputs_of(target), *ports)
    returned = (*ending.operands, *values)
    ending.detach()
    ending.erase()
    block.add_op(ReturnOp(*returned))
    target.function_type = FunctionType.from_lists([port.type for port in inputs], [port.type for port in outputs])
    set_ports(target, inputs, outputs)
    verify(clone)
    return clone, dict(places)
