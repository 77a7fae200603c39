"""Random programs on tensors compute the same in memory, where each element is written when its turn comes.

Values are slices of others, are written over, carried around loops, chosen by branches and used again. The programs are
interpreted on tensors, which never share memory, and once more behind bufferization and xDSL's lowering of structured
operations to loops: an operand that is overwritten too early gives another number.
"""

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from xdsl.transforms.convert_linalg_to_loops import ConvertLinalgToLoopsPass
from xdsl.transforms.lower_affine import LowerAffinePass

from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.scheduled.kernel_bufferize import KernelBufferize
from qmlir.text.parsing import parse_module
from qmlir.text.printing import module_text

_HEADER = """
#same = affine_map<(a) -> (a)>
#back4 = affine_map<(a) -> (3 - a)>
#back8 = affine_map<(a) -> (7 - a)>
#plain = affine_map<(a, b) -> (a, b)>
#turned = affine_map<(a, b) -> (b, a)>
func.func @main(%x: tensor<8xi8> {nn.name = "x"}) -> (RESULTS) {
  %k = arith.constant dense<[3, -7, 11, 19, -23, 31, -37, 41]> : tensor<8xi8>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i8
  %first = tensor.extract %x[%c0] : tensor<8xi8>
  %c = arith.cmpi slt, %first, %zero : i8
"""


@dataclass
class Writer:
    """Writes a program; `values` are the tensors that can be used at this place, with their lengths."""

    draw: random.Random
    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def pick(self, values: dict[str, int], length: int) -> str:
        """A tensor of this length, one of the last three more often than others."""
        fitting = [name for name, each in values.items() if each == length]
        return self.draw.choice(fitting[-3:] if self.draw.random() < 0.7 else fitting)

    def generic(self, kind: str, ins: list[tuple[str, str]], outs: str, type_: str) -> str:
        """`outs` plus three times `ins`, element by element, with a map for each."""
        maps = ", ".join([*(map_ for _, map_ in ins), kind])
        arguments = "".join(f"%a{position}: i8, " for position in range(len(ins)))
        name, loops = self.name(), ", ".join(['"parallel"'] * (2 if kind == "#plain" else 1))
        self.lines += [
            f"{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}}"
            f" ins({', '.join(value for value, _ in ins)} : {', '.join([type_] * len(ins))}) outs({outs} : {type_}) {{",
            f"^bb0({arguments}%o: i8):",
            "%s = arith.addi %o, %a0 : i8",
            "%t = arith.addi %s, %a0 : i8",
            f"%r = arith.addi %t, %a{len(ins) - 1} : i8",
            "linalg.yield %r : i8",
            f"}} -> {type_}",
        ]
        return name

    def sum(self, values: dict[str, int], length: int) -> str:
        """An operation that reads its operands in one order, or the other, and may write over the last one."""
        kinds = ["#same", "#same", f"#back{length}"]
        ins = [(self.pick(values, length), self.draw.choice(kinds)) for _ in range(self.draw.randint(1, 2))]
        return self.generic("#same", ins, self.pick(values, length), f"tensor<{length}xi8>")

    def slice(self, values: dict[str, int]) -> str:
        step = self.draw.randint(1, 2)
        offset, name = self.draw.randint(0, 4 if step == 1 else 1), self.name()
        source = self.pick(values, 8)
        self.lines.append(
            f"{name} = tensor.extract_slice {source}[{offset}] [4] [{step}] : tensor<8xi8> to tensor<4xi8>"
        )
        return name

    def overlap(self, values: dict[str, int]) -> str:
        """One slice of a tensor that nothing else uses, read while another that meets it may be written over."""
        own = {self.sum(values, 8): 8}
        return self.sum({self.slice(own): 4, self.slice(own): 4}, 4)

    def insert(self, values: dict[str, int]) -> str:
        part, whole, name, offset = self.pick(values, 4), self.pick(values, 8), self.name(), self.draw.randint(0, 4)
        types = "tensor<4xi8> into tensor<8xi8>"
        self.lines.append(f"{name} = tensor.insert_slice {part} into {whole}[{offset}] [4] [1] : {types}")
        return name

    def assembly(self, values: dict[str, int]) -> str:
        """Tensors of their own, put into a new one in another order than they were made; they may meet there."""
        parts = [self.sum(values, 4) for _ in range(self.draw.randint(2, 3))]
        empty, whole = self.name(), self.name()
        self.draw.shuffle(parts)
        self.lines.append(f"{empty} = tensor.empty() : tensor<8xi8>")
        self.lines.append(f"{whole} = linalg.fill ins(%zero : i8) outs({empty} : tensor<8xi8>) -> tensor<8xi8>")
        for part in parts:
            whole = self.insert({part: 4, whole: 8})
        return whole

    def element(self, values: dict[str, int]) -> str:
        taken, name, position = self.name(), self.name(), self.draw.choice(["%c0", "%c1", "%c3"])
        self.lines.append(f"{taken} = tensor.extract {self.pick(values, 8)}[{position}] : tensor<8xi8>")
        into = self.draw.choice(["%c0", "%c1", "%c3"])
        self.lines.append(f"{name} = tensor.insert {taken} into {self.pick(values, 8)}[{into}] : tensor<8xi8>")
        return name

    def turned(self, values: dict[str, int]) -> str:
        """A square, read plain or turned while it is written."""
        square, other, name = self.name(), self.name(), self.name()
        source, second = self.pick(values, 4), self.pick(values, 4)
        self.lines.append(f"{square} = kernel.reshape {source} : tensor<4xi8> to tensor<2x2xi8>")
        self.lines.append(f"{other} = kernel.reshape {second} : tensor<4xi8> to tensor<2x2xi8>")
        map_ = self.draw.choice(["#plain", "#turned"])
        result = self.generic("#plain", [(square, map_)], self.draw.choice([square, other]), "tensor<2x2xi8>")
        self.lines.append(f"{name} = kernel.reshape {result} : tensor<2x2xi8> to tensor<4xi8>")
        return name

    def choice(self, values: dict[str, int], length: int) -> str:
        name, type_ = self.name(), f"tensor<{length}xi8>"
        self.lines.append(f"{name} = scf.if %c -> ({type_}) {{")
        for between in ("} else {", "}"):
            inside = self.block(values, self.draw.randint(0, 2))
            self.lines += [f"scf.yield {self.pick(inside, length)} : {type_}", between]
        return name

    def loop(self, values: dict[str, int]) -> list[str]:
        """Two tensors are carried; they may change places."""
        name, (first, second) = self.name(), (self.name(), self.name())
        begin = self.pick(values, 8), self.pick(values, 8)
        types = "tensor<8xi8>, tensor<8xi8>"
        self.lines.append(
            f"{name}:2 = scf.for %i = %c0 to %c3 step %c1 iter_args({first} = {begin[0]}, {second} = {begin[1]})"
            f" -> ({types}) {{"
        )
        inside = self.block(values | {first: 8, second: 8}, self.draw.randint(1, 3))
        self.lines += [f"scf.yield {self.pick(inside, 8)}, {self.pick(inside, 8)} : {types}", "}"]
        return [f"{name}#0", f"{name}#1"]

    def block(self, values: dict[str, int], operations: int, *, is_outer: bool = False) -> dict[str, int]:
        """Operations, and the values that are there behind them."""
        values = dict(values)
        for _ in range(operations):
            match self.draw.randint(0, 9 if is_outer else 7):
                case 0:
                    values[self.slice(values)] = 4
                case 1:
                    values[self.overlap(values)] = 4
                case 2:
                    values[self.draw.choice([self.insert, self.assembly])(values)] = 8
                case 3:
                    values[self.element(values)] = 8
                case 4:
                    values[self.turned(values)] = 4
                case 5 | 6 | 7:
                    length = self.draw.choice([4, 8])
                    values[self.sum(values, length)] = length
                case 8:
                    length = self.draw.choice([4, 8])
                    values[self.choice(values, length)] = length
                case _:
                    values |= dict.fromkeys(self.loop(values), 8)
        return values


def program(seed: int) -> str:
    """The text of a program; its first values lie in memory that may be written."""
    writer = Writer(random.Random(seed))
    values = {"%x": 8, "%k": 8}
    for _ in range(2):
        values[writer.sum({"%x": 8, "%k": 8}, 8)] = 8
    values[writer.slice(values)] = 4
    values = writer.block(values, 8, is_outer=True)
    results = [writer.pick(values, length) for length in (8, 4, 8)]
    types = [f"tensor<{values[each]}xi8>" for each in results]
    header = _HEADER.replace("RESULTS", ", ".join(f'{each} {{nn.name = "y{n}"}}' for n, each in enumerate(types)))
    return "\n".join([header, *writer.lines, f"func.return {', '.join(results)} : {', '.join(types)}", "}"])


@pytest.mark.parametrize("seed", range(60))
def test_memory_holds_what_tensors_do(seed: int) -> None:
    context = default_environment().new_context()
    module = parse_module(context, program(seed))
    lowered = module.clone()
    for each in (KernelBufferize(), ConvertLinalgToLoopsPass(), LowerAffinePass()):
        each.apply(context, lowered)
    for first in (-17, 17):  # either branch
        inputs = {"x": np.arange(8, dtype=np.int8) * 5 + np.int8(first)}
        expected, found = interpret(module, inputs), interpret(lowered, inputs)
        for name, array in expected.items():
            assert np.array_equal(array, found[name]), f"{name}\n{program(seed)}\n{module_text(lowered)}"
