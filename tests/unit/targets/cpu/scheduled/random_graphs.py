"""Random functions at the integer level, as text: tensors of i8 that are sliced, joined, written and looped over."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = ((6,), (2, 3), (3, 2), (4, 3), (1, 2, 3, 2))


def type_of(shape: Shape) -> str:
    return f"tensor<{'x'.join([*map(str, shape), 'i8'])}>"


def _map(dims: int, results: str) -> str:
    names = ", ".join(f"d{axis}" for axis in range(dims))
    return f"affine_map<({names}) -> ({results})>"


def _identity(dims: int) -> str:
    return _map(dims, ", ".join(f"d{axis}" for axis in range(dims)))


@dataclass
class Graph:
    """A function in the making; `values` are those that may be used at this point."""

    random: random.Random
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, Shape]] = field(default_factory=list)
    shared: dict[tuple[str, Shape], str] = field(default_factory=dict)
    count: int = 0
    depth: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str, shape: Shape | None = None) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        if shape is not None:
            self.values.append((name, shape))
        return name

    def pick(self, shape: Shape | None = None) -> tuple[str, Shape]:
        """A value, the newer the likelier, so that chains and old values both come up."""
        found = [value for value in self.values if shape in (None, value[1])]
        if not found:
            assert shape is not None
            return self.fill(shape), shape
        return found[-1] if self.random.random() < 0.4 else self.random.choice(found)

    def shape(self) -> Shape:
        return self.random.choice(SHAPES)

    # --- What is written over -----------------------------------------------------------------------------------------

    def empty(self, shape: Shape) -> str:
        """An empty tensor, one for several uses now and then, as after cse."""
        return self._shared("empty", shape, lambda: self.emit(f"tensor.empty() : {type_of(shape)}"))

    def fill(self, shape: Shape) -> str:
        number = self.random.choice(["%one", "%two"])

        def made() -> str:
            type_ = type_of(shape)
            return self.emit(f"linalg.fill ins({number} : i8) outs({self.empty(shape)} : {type_}) -> {type_}", shape)

        return self._shared(number, shape, made)

    def _shared(self, kind: str, shape: Shape, made: Callable[[], str]) -> str:
        key = kind, shape
        if key in self.shared and self.random.random() < 0.5:
            return self.shared[key]
        found = made()
        if not self.depth:
            self.shared[key] = found
        return found

    # --- Operations ---------------------------------------------------------------------------------------------------

    def elementwise(self) -> None:
        (a, shape) = self.pick()
        b, _ = self.pick(shape)
        uses_old = self.random.random() < 0.3
        out = self.pick(shape)[0] if uses_old or self.random.random() < 0.2 else self.empty(shape)
        dims = len(shape)
        maps = [_identity(dims)] * 3
        if len(set(shape)) == 1 or (dims == 1 and self.random.random() < 0.5):
            maps[0] = _map(dims, f"{shape[0] - 1} - d0") if dims == 1 else maps[0]
        last = "%t" if not uses_old else "%u"
        op = self.random.choice(["addi", "muli", "subi", "xori"])
        type_ = type_of(shape)
        kinds = ", ".join(['"parallel"'] * dims)
        self.emit(
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} "
            f"ins({a}, {b} : {type_}, {type_}) outs({out} : {type_}) {{\n^bb0(%p: i8, %q: i8, %o: i8):\n"
            f"%t = arith.{op} %p, %q : i8\n%u = arith.addi %t, %o : i8\nlinalg.yield {last} : i8\n}} -> {type_}",
            shape,
        )

    def reduction(self) -> None:
        _, shape = self.pick()
        if len(shape) != 2:
            return
        small = next((each for each in SHAPES if len(each) == 1), (6,))
        flat, _ = self.pick(small) if self.random.random() < 0.5 else (self.fill(small), small)
        wide = (*small, shape[0])
        source = self.fill(wide)
        self.emit(
            f"linalg.generic {{indexing_maps = [{_identity(2)}, {_map(2, 'd0')}], "
            f'iterator_types = ["parallel", "reduction"]}} ins({source} : {type_of(wide)}) '
            f"outs({flat} : {type_of(small)}) {{\n^bb0(%p: i8, %o: i8):\n%t = arith.addi %p, %o : i8\n"
            f"linalg.yield %t : i8\n}} -> {type_of(small)}",
            small,
        )

    def lookup(self) -> None:
        """Reads the whole of another value at places that the first says."""
        a, shape = self.pick()
        table, _ = self.pick((6,))
        out = self.pick(shape)[0] if self.random.random() < 0.4 else self.empty(shape)
        type_, dims = type_of(shape), len(shape)
        kinds = ", ".join(['"parallel"'] * dims)
        self.emit(
            f"linalg.generic {{indexing_maps = [{_identity(dims)}, {_identity(dims)}], iterator_types = [{kinds}]}} "
            f"ins({a} : {type_}) outs({out} : {type_}) {{\n^bb0(%p: i8, %o: i8):\n"
            f"%m = arith.constant 3 : i8\n%t = arith.andi %p, %m : i8\n%i = arith.index_cast %t : i8 to index\n"
            f"%u = tensor.extract {table}[%i] : tensor<6xi8>\nlinalg.yield %u : i8\n}} -> {type_}",
            shape,
        )

    def conv(self) -> None:
        shape = (1, 2, 3, 2)
        a, _ = self.pick(shape)
        residual, _ = self.pick(shape)
        type_ = type_of(shape)
        self.emit(
            f"kernel.conv ins({a}, %w : {type_}, tensor<2x1x1x2xi8>) epilogue({residual} : {type_}) -> {type_} "
            f"attributes {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
            f"epilogue_maps = [{_identity(4)}]}} {{\n^bb0(%s: i32, %r: i8):\n%t = arith.trunci %s : i32 to i8\n"
            f"%u = arith.addi %t, %r : i8\nkernel.yield %u : i8\n}}",
            shape,
        )

    def reshape(self) -> None:
        a, shape = self.pick(self.random.choice([(6,), (2, 3), (3, 2)]))
        new = self.random.choice([(6,), (2, 3), (3, 2)])
        self.emit(f"kernel.reshape {a} : {type_of(shape)} to {type_of(new)}", new)

    def cut(self) -> None:
        """A slice: of the first rows without gaps, of columns with gaps, or rank-reduced."""
        a, _ = self.pick((4, 3))
        kind = self.random.choice(["rows", "columns", "steps"])
        if kind == "columns":
            offset = self.random.choice([0, 1])
            part = self.emit(
                f"tensor.extract_slice {a}[0, {offset}] [3, 2] [1, 1] : tensor<4x3xi8> to tensor<3x2xi8>", (3, 2)
            )
            if self.random.random() < 0.5:
                self.emit(f"kernel.reshape {part} : tensor<3x2xi8> to tensor<6xi8>", (6,))
        elif kind == "rows":
            offset = self.random.choice([0, 1, 2])
            self.emit(f"tensor.extract_slice {a}[{offset}, 0] [2, 3] [1, 1] : tensor<4x3xi8> to tensor<2x3xi8>", (2, 3))
        else:
            self.emit(f"tensor.extract_slice {a}[0, 0] [2, 3] [2, 1] : tensor<4x3xi8> to tensor<2x3xi8>", (2, 3))

    def put(self) -> None:
        """An insertion over a value, over a fill, or two over an empty tensor."""
        part, _ = self.pick((2, 3))
        steps = self.random.choice([1, 2])
        position = self.random.choice([0, 1, 2]) if steps == 1 else self.random.choice([0, 1])

        def insert(value: str, whole: str, offset: int, step: int) -> str:
            return (
                f"tensor.insert_slice {value} into {whole}[{offset}, 0] [2, 3] [{step}, 1] : "
                "tensor<2x3xi8> into tensor<4x3xi8>"
            )

        match self.random.choice(["over", "fill", "empty"]):
            case "over":
                self.emit(insert(part, self.pick((4, 3))[0], position, steps), (4, 3))
            case "fill":
                self.emit(insert(part, self.fill((4, 3)), position, steps), (4, 3))
            case _:
                other, _ = self.pick((2, 3))
                offsets = [(0, 1), (1, 1)] if steps == 2 else [(0, 1), (2, 1)]
                (first, _), (second, _) = self.random.sample(offsets, 2)
                inner = self.emit(insert(part, self.empty((4, 3)), first, steps))
                self.emit(insert(other, inner, second, steps), (4, 3))

    def element(self) -> None:
        a, _ = self.pick((6,))
        b, _ = self.pick((6,))
        scalar = self.emit(f"tensor.extract {a}[%c2] : tensor<6xi8>")
        self.emit(f"tensor.insert {scalar} into {b}[%c1] : tensor<6xi8>", (6,))

    def _body(self, steps: int, made: int) -> list[str]:
        """Operations of a region, as lines of their own; what they make is not seen outside."""
        lines, self.lines = self.lines, []
        self.depth += 1
        for _ in range(made):
            self.step(nested=steps)
        self.depth -= 1
        lines, self.lines = self.lines, lines
        return lines

    def loop(self) -> None:
        shapes = [self.random.choice([(6,), (4, 3), (2, 3)]) for _ in range(self.random.choice([1, 2, 2]))]
        inits = [self.pick(shape)[0] for shape in shapes]
        before = list(self.values)
        arguments = [self.name() for _ in shapes]
        self.values += list(zip(arguments, shapes, strict=True))
        lines = self._body(0, self.random.randint(1, 4))
        if (6,) in shapes:  # an element at a place that changes
            whole, scalar, new = self.pick((6,))[0], self.name(), self.name()
            lines += [
                f"{scalar} = tensor.extract {whole}[%step] : tensor<6xi8>",
                f"{new} = tensor.insert {scalar} into {arguments[shapes.index((6,))]}[%c1] : tensor<6xi8>",
            ]
            self.values.append((new, (6,)))
        self.depth += 1
        outer, self.lines = self.lines, []
        yielded = [self.pick(shape)[0] for shape in shapes]
        lines += self.lines
        self.lines = outer
        self.depth -= 1
        self.values = before
        types = ", ".join(map(type_of, shapes))
        carried = ", ".join(f"{a} = {b}" for a, b in zip(arguments, inits, strict=True))
        name = self.name()
        body = "\n".join(lines)
        self.lines.append(
            f"{name}:{len(shapes)} = scf.for %step = %c0 to %c3 step %c1 iter_args({carried}) -> ({types}) {{\n"
            f"{body}\nscf.yield {', '.join(yielded)} : {types}\n}}"
        )
        self.values += [(f"{name}#{position}", shape) for position, shape in enumerate(shapes)]

    def choice(self) -> None:
        shape = self.random.choice([(6,), (4, 3)])
        pair = self.pick((6,))[0]
        scalar = self.emit(f"tensor.extract {pair}[%c0] : tensor<6xi8>")
        condition = self.emit(f"arith.cmpi sgt, {scalar}, %one : i8")
        before, branches = list(self.values), []
        for _ in range(2):
            self.values = list(before)
            lines = self._body(0, self.random.randint(0, 2))
            outer, self.lines = self.lines, []
            self.depth += 1
            yielded = self.pick(shape)[0]
            self.depth -= 1
            branches.append("\n".join([*lines, *self.lines, f"scf.yield {yielded} : {type_of(shape)}"]))
            self.lines = outer
        self.values = before
        self.emit(f"scf.if {condition} -> ({type_of(shape)}) {{\n{branches[0]}\n}} else {{\n{branches[1]}\n}}", shape)

    def step(self, nested: int = 2) -> None:
        simple = [
            self.elementwise, self.elementwise, self.reduction, self.lookup, self.conv, self.reshape, self.cut,
            self.put, self.put, self.element,
        ]  # fmt: skip
        self.random.choice([*simple, *[self.loop, self.choice] * bool(nested)] if not self.depth else simple)()


def random_graph(seed: int, length: int = 12) -> str:
    """A module whose `@main` is made of `length` random steps, one seed, one text."""
    graph = Graph(random.Random(seed))
    inputs = [(f"%x{position}", shape) for position, shape in enumerate(SHAPES)]
    graph.values += inputs
    graph.lines += [
        *(f"%c{number} = arith.constant {number} : index" for number in range(4)),
        "%one = arith.constant 1 : i8",
        "%two = arith.constant 2 : i8",
        "%w = arith.constant dense<[[[[1, 2]]], [[[3, -1]]]]> : tensor<2x1x1x2xi8>",
        "%k = arith.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi8>",
    ]
    graph.values.append(("%k", (6,)))
    for _ in range(length):
        graph.step()
    returned = [graph.pick() for _ in range(graph.random.randint(1, 4))]
    arguments = ", ".join(f"{name}: {type_of(shape)}" for name, shape in inputs)
    types = ", ".join(type_of(shape) for _, shape in returned)
    body = "\n".join(graph.lines)
    return (
        f"func.func @main({arguments}) -> ({types}) {{\n{body}\n"
        f"func.return {', '.join(name for name, _ in returned)} : {types}\n}}\n"
    )
