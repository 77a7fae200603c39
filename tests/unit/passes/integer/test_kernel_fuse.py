"""Random graphs of structured operations: the same bits before and after fusion and layout changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.passes import ModulePass

from qmlir.dialects.kernel.contraction import ContractionOp
from qmlir.environment import default_environment
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.interpreter.run import interpret
from qmlir.ir.verification import verify
from qmlir.passes.integer.kernel_fuse import MOST_OPERATIONS, KernelFuse
from qmlir.passes.integer.kernel_propagate_layout import KernelPropagateLayout
from qmlir.text.parsing import parse_module
from tests.support.sampled import seeds

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def dims(count: int) -> str:
    return ", ".join(f"d{dim}" for dim in range(count))


def affine(count: int, results: Sequence[str]) -> str:
    return f"affine_map<({dims(count)}) -> ({', '.join(results)})>"


def type_of(shape: Shape, element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class RandomGraph:
    """The text of a function of random operations of the integer level on `i32`, rank 4, and narrower constants."""

    def __init__(self, seed: int, steps: int = 12):
        self.random = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.count = 0
        shape: Shape = (1, *(int(size) for size in self.random.integers(1, 5, 2)), int(self.random.integers(2, 6)))
        self.arguments = [("%x0", shape), ("%x1", shape)]
        self.values: list[tuple[str, Shape]] = list(self.arguments)
        makers = [
            self.elementwise, self.elementwise, self.elementwise, self.transpose, self.transpose, self.back,
            self.matmul, self.conv, self.broadcast, self.reduce, self.pad, self.slice, self.reshape, self.concat,
            self.constant, self.indices,
        ]  # fmt: skip
        for _ in range(steps):
            maker = makers[int(self.random.integers(0, len(makers)))]
            maker()

    def pick(self, rank: int | None = None) -> tuple[str, Shape]:
        fitting = [value for value in self.values if rank is None or len(value[1]) == rank]
        recent = fitting[-4:]
        return recent[int(self.random.integers(0, len(recent)))]

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, line: str, shape: Shape) -> str:
        name = self.name()
        self.lines.append(f"{name} = {line}")
        self.values.append((name, shape))
        return name

    def hidden(self, line: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {line}")
        return name

    def generic(
        self, inputs: list[tuple[str, Shape, list[str]]], shape: Shape, body: list[str], result: str,
        reductions: Sequence[int] = (), init: str | None = None,
    ) -> None:  # fmt: skip
        count = len(shape) + len(reductions)
        kept = [f"d{dim}" for dim in range(count) if dim not in reductions]
        maps = ", ".join(affine(count, results) for _, _, results in [*inputs, ("", (), kept)])
        kinds = ", ".join('"reduction"' if dim in reductions else '"parallel"' for dim in range(count))
        output = init or self.hidden(f"tensor.empty() : {type_of(shape, 'i32')}")
        arguments = ", ".join(f"%a{position}: i32" for position in range(len(inputs) + 1))
        names = ", ".join(name for name, _, _ in inputs)
        types = ", ".join(type_of(each, "i32") for _, each, _ in inputs)
        ins = f"ins({names} : {types})" if inputs else ""
        text = chr(10).join(body)
        self.add(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins} "
            f"outs({output} : {type_of(shape, 'i32')}) {{\n^bb0({arguments}):\n{text}\n"
            f"linalg.yield {result} : i32\n}} -> {type_of(shape, 'i32')}",
            shape,
        )

    def elementwise(self) -> None:
        name, shape = self.pick()
        inputs = [(name, shape, [f"d{axis}" for axis in range(len(shape))])]
        for other, sizes in self.random.permutation(np.array(self.values, dtype=object))[:3].tolist():
            if len(sizes) == len(shape) and sorted(sizes) == sorted(shape):
                order = self._order(shape, sizes)
                inputs.append((other, sizes, [f"d{axis}" for axis in order]))
            elif sizes == shape[-1:]:
                inputs.append((other, sizes, [f"d{len(shape) - 1}"]))
        body, last = [], "%a0"
        for position in range(1, len(inputs)):
            kind = self.random.choice(["addi", "subi", "muli", "maxsi"])
            body.append(f"%b{position} = arith.{kind} {last}, %a{position} : i32")
            last = f"%b{position}"
        body += [
            f"%c = arith.constant {int(self.random.integers(-90, 90))} : i32",
            f"%d = arith.{self.random.choice(['addi', 'maxsi', 'minsi'])} {last}, %c : i32",
        ]
        last = "%d"
        if self.random.random() < 0.5:
            low, high = sorted(int(value) for value in self.random.integers(-120, 120, 2))
            zero = int(self.random.integers(low, high + 1))
            body += [
                "%m = arith.constant 0.37 : f32",
                f"%e = kernel.requantize %d, %m {{mode = #kernel.requantize<f32>, zero_point = {zero} : i64, "
                f"minimum = {low} : i64, maximum = {high} : i64}} : i32, f32 -> i8",
                f"%k = arith.constant {int(self.random.integers(-120, 120))} : i8",
                f"%f = arith.{self.random.choice(['maxsi', 'minsi', 'maxui'])} %e, %k : i8",
                "%g = arith.extsi %f : i8 to i32",
            ]
            last = "%g"
        self.generic(inputs, shape, body, last)

    def _order(self, shape: Shape, sizes: Shape) -> list[int]:
        """For each axis of `sizes` an axis of `shape` of that size."""
        left = list(range(len(shape)))
        order: list[int] = []
        for size in sizes:
            fitting = [axis for axis in left if shape[axis] == size]
            order.append(fitting[int(self.random.integers(0, len(fitting)))])
            left.remove(order[-1])
        return order

    def transpose(self) -> None:
        name, shape = self.pick()
        order = [int(axis) for axis in self.random.permutation(len(shape))]
        if len(shape) == 4 and self.random.random() < 0.6:
            order = [0, 2, 3, 1] if self.random.random() < 0.5 else [0, 3, 1, 2]
        self._transposed(name, shape, order)

    def _transposed(self, name: str, shape: Shape, order: Sequence[int]) -> None:
        results = [f"d{list(order).index(axis)}" for axis in range(len(shape))]
        self.generic([(name, shape, results)], tuple(shape[axis] for axis in order), [], "%a0")

    def back(self) -> None:
        """channels last -> elementwise -> channels first, as convolutions come."""
        name, shape = self.pick(4)
        self._transposed(name, shape, [0, 2, 3, 1])
        self.elementwise()
        name, shape = self.values[-1]
        if len(shape) == 4:
            self._transposed(name, shape, [0, 3, 1, 2])

    def narrow(self, name: str, shape: Shape) -> str:
        ident = affine(len(shape), [f"d{axis}" for axis in range(len(shape))])
        kinds = ", ".join(['"parallel"'] * len(shape))
        empty = self.hidden(f"tensor.empty() : {type_of(shape, 'i8')}")
        return self.hidden(
            f"linalg.generic {{indexing_maps = [{ident}, {ident}], iterator_types = [{kinds}]}} "
            f"ins({name} : {type_of(shape, 'i32')}) outs({empty} : {type_of(shape, 'i8')}) {{\n"
            f"^bb0(%a: i32, %o: i8):\n%t = arith.trunci %a : i32 to i8\n"
            f"linalg.yield %t : i8\n}} -> {type_of(shape, 'i8')}"
        )

    def weights(self, shape: Shape) -> str:
        values = self.random.integers(-128, 128, shape).tolist()
        return self.hidden(f"arith.constant dense<{values}> : {type_of(shape, 'i8')}")

    def matmul(self) -> None:
        name, shape = self.pick()
        if len(shape) > 2 and self.random.random() < 0.6:
            flat: Shape = (shape[0], int(np.prod(shape[1:])))
            name = self.hidden(f"kernel.reshape {name} : {type_of(shape, 'i32')} to {type_of(flat, 'i32')}")
            shape = flat
        if len(shape) < 2:
            return
        channels = int(self.random.integers(1, 5))
        narrow, weights = self.narrow(name, shape), self.weights((channels, shape[-1]))
        result = (*shape[:-1], channels)
        self.add(
            f"kernel.matmul ins({narrow}, {weights} : {type_of(shape, 'i8')}, {type_of((channels, shape[-1]), 'i8')}) "
            f"-> {type_of(result, 'i32')} {{\n^bb0(%s: i32):\nkernel.yield %s : i32\n}}",
            result,
        )

    def conv(self) -> None:
        name, shape = self.pick(4)
        self._transposed(name, shape, [0, 2, 3, 1])
        name, shape = self.values[-1]
        channels = int(self.random.integers(1, 5))
        taps = [min(2, size) for size in shape[1:3]]
        kernel = (channels, *taps, shape[3])
        narrow, weights = self.narrow(name, shape), self.weights(kernel)
        result = (shape[0], shape[1] - taps[0] + 1, shape[2] - taps[1] + 1, channels)
        self.add(
            f"kernel.conv ins({narrow}, {weights} : {type_of(shape, 'i8')}, {type_of(kernel, 'i8')}) "
            f"-> {type_of(result, 'i32')} attributes {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>}} "
            f"{{\n^bb0(%s: i32):\nkernel.yield %s : i32\n}}",
            result,
        )
        if self.random.random() < 0.7:
            self.elementwise()
            name, shape = self.values[-1]
            if len(shape) == 4:
                self._transposed(name, shape, [0, 3, 1, 2])

    def broadcast(self) -> None:
        name, shape = self.pick()
        if len(shape) < 4:
            target = (int(self.random.integers(1, 4)), *shape)
            self.generic([(name, shape, [f"d{axis + 1}" for axis in range(len(shape))])], target, [], "%a0")

    def reduce(self) -> None:
        name, shape = self.pick()
        axes = [axis for axis in range(len(shape)) if self.random.random() < 0.4]
        kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
        zero = self.hidden(f"arith.constant {int(self.random.integers(-5, 5))} : i32")
        empty = self.hidden(f"tensor.empty() : {type_of(kept, 'i32')}")
        init = self.hidden(
            f"linalg.fill ins({zero} : i32) outs({empty} : {type_of(kept, 'i32')}) -> {type_of(kept, 'i32')}"
        )
        body = ["%b = arith.constant 3 : i32", "%c = arith.muli %a1, %b : i32", "%d = arith.addi %c, %a0 : i32"]
        self.generic([(name, shape, [f"d{axis}" for axis in range(len(shape))])], kept, body, "%d", axes, init)

    def fill(self, shape: Shape) -> str:
        number = self.hidden(f"arith.constant {int(self.random.integers(-5, 5))} : i32")
        empty = self.hidden(f"tensor.empty() : {type_of(shape, 'i32')}")
        return self.hidden(
            f"linalg.fill ins({number} : i32) outs({empty} : {type_of(shape, 'i32')}) -> {type_of(shape, 'i32')}"
        )

    def put(self, part: str, sizes: Shape, whole: str, shape: Shape, offsets: Sequence[int]) -> str:
        return (
            f"tensor.insert_slice {part} into {whole}[{', '.join(map(str, offsets))}]"
            f"[{', '.join(map(str, sizes))}][{', '.join(['1'] * len(sizes))}] : "
            f"{type_of(sizes, 'i32')} into {type_of(shape, 'i32')}"
        )

    def pad(self) -> None:
        name, shape = self.pick()
        low, high = self.random.integers(0, 2, len(shape)).tolist(), self.random.integers(0, 2, len(shape)).tolist()
        wide = tuple(a + size + b for a, size, b in zip(low, shape, high, strict=True))
        if shape and np.prod(wide) < 500:
            self.add(self.put(name, shape, self.fill(wide), wide, low), wide)

    def concat(self) -> None:
        name, shape = self.pick()
        others = [each for each in self.values if each[1] == shape]
        other = others[int(self.random.integers(0, len(others)))][0]
        if shape and np.prod(shape) < 300:
            axis = int(self.random.integers(0, len(shape)))
            wide = tuple(size * 2 if at == axis else size for at, size in enumerate(shape))
            first = self.hidden(self.put(name, shape, self.fill(wide), wide, [0] * len(shape)))
            offsets = [size if at == axis else 0 for at, size in enumerate(shape)]
            self.add(self.put(other, shape, first, wide, offsets), wide)

    def slice(self) -> None:
        name, shape = self.pick()
        offsets = [int(self.random.integers(0, size)) for size in shape]
        sizes = tuple(int(self.random.integers(1, size - at + 1)) for size, at in zip(shape, offsets, strict=True))
        if shape:
            self.add(
                f"tensor.extract_slice {name}[{', '.join(map(str, offsets))}][{', '.join(map(str, sizes))}]"
                f"[{', '.join(['1'] * len(sizes))}] : {type_of(shape, 'i32')} to {type_of(sizes, 'i32')}",
                sizes,
            )

    def reshape(self) -> None:
        name, shape = self.pick()
        choice = self.random.random()
        if choice < 0.3 and len(shape) > 1:
            target: Shape = (shape[0], int(np.prod(shape[1:])))
        elif choice < 0.6 and len(shape) > 1:  # two axes become one, or one becomes two
            axis = int(self.random.integers(0, len(shape) - 1))
            if shape[axis] % 2 or len(shape) > 4:
                target = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
            else:
                target = (*shape[:axis], 2, shape[axis] // 2, *shape[axis + 1 :])
        else:
            kept = [size for size in shape if size != 1]
            for _ in range(int(self.random.integers(0, 4 - min(len(kept), 4) + 1))):
                kept.insert(int(self.random.integers(0, len(kept) + 1)), 1)
            target = tuple(kept)
        self.add(f"kernel.reshape {name} : {type_of(shape, 'i32')} to {type_of(target, 'i32')}", target)

    def constant(self) -> None:
        _, shape = self.pick()
        values = self.random.integers(-50, 50, shape)
        if self.random.random() < 0.4:
            values = np.full(shape, 7)
        self.add(f"arith.constant dense<{values.tolist()}> : {type_of(shape, 'i32')}", shape)

    def indices(self) -> None:
        name, shape = self.pick()
        if shape:
            axis = int(self.random.integers(0, len(shape)))
            body = [
                f"%i = linalg.index {axis} : index",
                "%j = arith.index_cast %i : index to i32",
                "%k = arith.muli %a0, %j : i32",
            ]
            self.generic([(name, shape, [f"d{at}" for at in range(len(shape))])], shape, body, "%k")

    def text(self) -> str:
        given = ", ".join(f"{name}: {type_of(shape, 'i32')}" for name, shape in self.arguments)
        results = self.values[-3:]
        types = ", ".join(type_of(shape, "i32") for _, shape in results)
        lines = chr(10).join(self.lines)
        names = ", ".join(name for name, _ in results)
        return f"func.func @main({given}) -> ({types}) {{\n{lines}\nfunc.return {names} : {types}\n}}"


def transformed(text: str, steps: Sequence[ModulePass]) -> ModuleOp:
    context = default_environment().new_context()
    module = parse_module(context, text, "graph.mlir")
    for step in steps:
        step.apply(context, module)
        verify(module)
    return module


def outputs(module: ModuleOp) -> list[bytes]:
    (function,) = [op for op in module.ops if op.name == "func.func"]
    found = interpret(module, random_inputs(function))
    return [np.ascontiguousarray(array).tobytes() for array in found.values()]


PIPELINES: dict[str, list[ModulePass]] = {
    "fuse": [KernelFuse()],
    "layout": [KernelPropagateLayout()],
    "both": [KernelPropagateLayout(), KernelFuse(), KernelPropagateLayout(), KernelFuse()],
}


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("seed", seeds(30, 60))
def test_random_graph(seed: int, pipeline: str) -> None:
    text = RandomGraph(seed).text()
    module = transformed(text, PIPELINES[pipeline])
    assert outputs(transformed(text, [])) == outputs(module), f"{text}\n{module}"


def structured(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if isinstance(op, GenericOp | ContractionOp)]


def test_twice_is_once() -> None:
    for seed in range(20):
        text = RandomGraph(seed).text()
        once = str(transformed(text, [KernelFuse()]))
        assert once == str(transformed(text, [KernelFuse(), KernelFuse()]))


def test_fuses_something() -> None:
    before, after = 0, 0
    for seed in range(20):
        text = RandomGraph(seed).text()
        before += len(structured(transformed(text, [])))
        after += len(structured(transformed(text, [KernelFuse()])))
    assert after < before * 2 / 3


def test_a_body_has_a_limit() -> None:
    identity = affine(1, ["d0"])
    lines: list[str] = []
    for step in range(80):
        lines.append(
            f"%e{step} = tensor.empty() : tensor<4xi32>\n%v{step + 1} = linalg.generic "
            f'{{indexing_maps = [{identity}, {identity}], iterator_types = ["parallel"]}} '
            f"ins(%v{step} : tensor<4xi32>) outs(%e{step} : tensor<4xi32>) {{\n^bb0(%a: i32, %o: i32):\n"
            f"%b = arith.muli %a, %a : i32\n%c = arith.xori %b, %a : i32\nlinalg.yield %c : i32\n}} -> tensor<4xi32>"
        )
    body = "\n".join(lines)
    text = f"func.func @main(%v0: tensor<4xi32>) -> tensor<4xi32> {{\n{body}\nfunc.return %v80 : tensor<4xi32>\n}}"
    module = transformed(text, [KernelFuse()])
    lengths = [len(list(op.body.walk())) for op in module.walk() if isinstance(op, GenericOp)]
    assert 1 < len(lengths) < 10
    assert max(lengths) <= MOST_OPERATIONS
    assert outputs(module) == outputs(transformed(text, []))


def test_a_transpose_in_front_of_a_loop_stays_there() -> None:
    text = """
    func.func @main(%x: tensor<2x3xi32>, %y: tensor<3x2xi32>) -> tensor<3x2xi32> {
      %e = tensor.empty() : tensor<3x2xi32>
      %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%e : tensor<3x2xi32>) {
      ^bb0(%a: i32, %o: i32):
        linalg.yield %a : i32
      } -> tensor<3x2xi32>
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %five = arith.constant 5 : index
      %r = scf.for %i = %zero to %five step %one iter_args(%s = %y) -> (tensor<3x2xi32>) {
        %n = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>,
            affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
            ins(%t, %s : tensor<3x2xi32>, tensor<3x2xi32>) outs(%e : tensor<3x2xi32>) {
        ^bb0(%a: i32, %b: i32, %o: i32):
          %p = arith.muli %a, %b : i32
          linalg.yield %p : i32
        } -> tensor<3x2xi32>
        scf.yield %n : tensor<3x2xi32>
      }
      func.return %r : tensor<3x2xi32>
    }"""
    module = transformed(text, [KernelPropagateLayout(), KernelFuse()])
    assert len(structured(module)) == 2
    assert outputs(module) == outputs(transformed(text, []))
