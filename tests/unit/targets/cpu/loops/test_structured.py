"""Random structured operations on memory: loops write the same bits as the operations that they come from."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from qmlir.analysis.symbols import common_groups
from qmlir.environment import default_environment
from qmlir.interpreter.interpreter import Interpreter
from qmlir.targets.cpu.loops.convert_kernel_to_loops import ConvertKernelToLoops
from qmlir.text.parsing import parse_module
from tests.support.sampled import seeds

Array = npt.NDArray[Any]

DTYPES = {"f32": np.float32, "i32": np.int32, "i8": np.int8}


class RandomNest:
    """The text of a function that holds one random `linalg.generic`, and arrays for its arguments."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        rank = int(self.random.integers(1, 5))
        self.ranges = [int(self.random.choice([1, 2, 3, 5, 9, 18])) for _ in range(rank)]
        self.is_reduction = [bool(self.random.random() < 0.35) for _ in range(rank)]
        self.element = str(self.random.choice(list(DTYPES)))
        self.types: list[str] = []
        self.maps: list[str] = []
        self.arrays: list[Array] = []
        for _ in range(int(self.random.integers(1, 4))):
            self._operand([dim for dim in range(rank) if self.random.random() < 0.8])
        self._operand(list(range(rank)))
        self._operand([dim for dim in range(rank) if not self.is_reduction[dim]])

    def _operand(self, dims: list[int]) -> None:
        if self.random.random() < 0.4:
            self.random.shuffle(dims)
        axes = [(f"d{dim}", self.ranges[dim]) for dim in dims]
        if self.random.random() < 0.3:
            axes.insert(int(self.random.integers(0, len(axes) + 1)), ("0", 1))
        shape = [size for _, size in axes]
        rows = shape.copy()
        layout = ""
        if shape and self.random.random() < 0.3:  # a part of wider memory
            rows[-1] += 2
            strides = [int(np.prod(rows[axis + 1 :])) for axis in range(len(rows))]
            layout = f", strided<{strides}>"
        whole = self.random.integers(-100, 100, rows).astype(DTYPES[self.element])
        if self.element == "f32":
            whole = (whole * self.random.random(rows)).astype(np.float32)
        self.arrays.append(whole[(*map(slice, shape), ...)])
        sizes = "".join(f"{size}x" for size in shape)
        self.types.append(f"memref<{sizes}{self.element}{layout}>")
        dimensions = ", ".join(f"d{dim}" for dim in range(len(self.ranges)))
        self.maps.append(f"affine_map<({dimensions}) -> ({', '.join(text for text, _ in axes)})>")

    def text(self) -> str:
        names = [f"%x{position}" for position in range(len(self.types))]
        kinds = ", ".join(f'"{"reduction" if flag else "parallel"}"' for flag in self.is_reduction)
        suffix = "f" if self.element == "f32" else "i"
        lines: list[str] = []
        last = f"%a{len(names) - 1}" if any(self.is_reduction) or self.random.random() < 0.5 else "%a0"
        for position in range(len(names) - 1):
            kind = str(self.random.choice(["add", "mul", "sub"]))
            lines.append(f"%v{position} = arith.{kind}{suffix} {last}, %a{position} : {self.element}")
            last = f"%v{position}"
        if suffix == "i" and self.random.random() < 0.3:
            dim = int(self.random.integers(0, len(self.ranges)))
            lines += [
                f"%i = linalg.index {dim} : index",
                f"%j = arith.index_cast %i : index to {self.element}",
                f"%w = arith.addi {last}, %j : {self.element}",
            ]
            last = "%w"
        arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, self.types, strict=True))
        schedule = ""
        if self.random.random() < 0.7:
            fields = ["lanes = 4"] * bool(self.random.random() < 0.8) + ["threads = true"] * bool(
                self.random.random() < 0.4
            )
            chosen = ", ".join(['variant = "lanes"', *fields])
            schedule = f"attrs = {{kernel.schedule = #kernel.schedule<{chosen}>}}"
        body = ", ".join(f"%a{position}: {self.element}" for position in range(len(names)))
        return f"""
        func.func @main({arguments}) {{
          linalg.generic {{indexing_maps = [{", ".join(self.maps)}], iterator_types = [{kinds}]}}
              ins({", ".join(names[:-1])} : {", ".join(self.types[:-1])})
              outs({names[-1]} : {self.types[-1]}) {schedule} {{
          ^bb0({body}):
            {chr(10).join(lines)}
            linalg.yield {last} : {self.element}
          }}
          func.return
        }}"""


def _written(interpreter: Interpreter, arrays: list[Array]) -> Array:
    bases = [array.copy() if array.base is None else array.base.copy() for array in arrays]
    views = [base[(*map(slice, array.shape), ...)] for base, array in zip(bases, arrays, strict=True)]
    with np.errstate(all="ignore"):
        interpreter.call("main", views)
    return bases[-1]


@pytest.mark.parametrize("seed", seeds(100, 200))
def test_random_nest(seed: int) -> None:
    nest = RandomNest(seed)
    context = default_environment().new_context()
    text = nest.text()
    expected = _written(Interpreter(parse_module(context, text, "nest.mlir")), nest.arrays)
    module = parse_module(context, text, "nest.mlir")
    ConvertKernelToLoops().apply(context, module)
    module.verify()
    found = _written(Interpreter(module), nest.arrays)
    assert expected.tobytes() == found.tobytes(), f"{text}\n{module}"


@pytest.mark.parametrize(
    ("source", "target", "groups"),
    [
        ([2, 3, 4], [6, 4], [([0, 1], [0]), ([2], [1])]),
        ([6, 4], [2, 3, 2, 2], [([0], [0, 1]), ([1], [2, 3])]),
        ([1, 5], [5], [([0, 1], [0])]),
        ([5, 1], [5], [([0, 1], [0])]),
        ([2, 3], [3, 2], [([0, 1], [0, 1])]),
        ([2, 0], [0, 7], [([0, 1], [0, 1])]),
        ([], [1, 1], [([], [0, 1])]),
    ],
)
def test_common_groups(source: list[int], target: list[int], groups: list[tuple[list[int], list[int]]]) -> None:
    assert common_groups(source, target) == groups


@pytest.mark.parametrize(
    "shapes", [("2x6", "3x4"), ("2x3", "6"), ("6", "1x6x1"), ("", "1x1"), ("1x1", ""), ("2x1x3", "2x3")]
)
def test_reshape(shapes: tuple[str, str]) -> None:
    source, target = (f"memref<{f'{shape}x' if shape else ''}i8>" for shape in shapes)
    text = f"""
    func.func @main(%x: {source}) -> {target} {{
      %0 = kernel.reshape %x : {source} to {target}
      func.return %0 : {target}
    }}"""
    context = default_environment().new_context()
    module = parse_module(context, text, "reshape.mlir")
    ConvertKernelToLoops().apply(context, module)
    module.verify()
    sizes, wanted = ([int(size) for size in shape.split("x") if size] for shape in shapes)
    array = np.arange(np.prod(sizes), dtype=np.int8).reshape(sizes)
    (found,) = Interpreter(module).call("main", [array])
    assert np.shares_memory(found, array)
    np.testing.assert_array_equal(found, array.reshape(wanted))
