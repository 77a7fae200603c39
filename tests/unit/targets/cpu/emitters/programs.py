"""Loop programs that every emitter compiles: elementwise operations on edge values, a loop for each element type.

`PROGRAMS` is the table. The tests of an emitter compile each of its programs, or the rows that the emitter has a form
for, and compare the outputs with those of the interpreter.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from qmlir.targets.cpu.emitters.numba.scalars import FUNCTIONS, INFIX
from tests.support.emitted import parsed

INTEGERS = ("i1", "i4", "i8", "i16", "i32", "i64", "index")
FLOATS = ("f16", "bf16", "f32", "f64")
DTYPES = {
    "i1": np.int8, "i4": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip

DIVISIONS = ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui")
SHIFTS = ("shli", "shrsi", "shrui")


def bits_of(element: str) -> int:
    return 64 if element == "index" else int(element.lstrip("bfi"))


def edges(element: str) -> np.ndarray:
    """Values at the ends of a type and around 0, and some between."""
    rng = np.random.default_rng(1)
    if element in FLOATS:
        wide = np.array(
            [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3.0, 1e-3, 7.75, 100.0, -65504.0, 1e-7, 6e-8, 1e38,
             -1e38, 1e-40, np.inf, -np.inf, np.nan, 16777217.0, 1.0009765625, 65519.0, 65520.0, 1.00390625, 3e-5],
        )  # fmt: skip
        values = np.concatenate([wide, rng.normal(size=35)])
        with np.errstate(over="ignore"):
            return values.astype(DTYPES[element])
    if element == "i1":
        return np.array([0, 1] * 32, np.int8)
    bits = bits_of(element)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    ends = [low, low + 1, -2, -1, 0, 1, 2, 3, high - 1, high]
    return np.array([*ends, *rng.integers(low, high, 54, endpoint=True)], DTYPES[element])


def pairs(element: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of some edge values, one array each; of f32 and f64 some pairs of any bits, too."""
    values = edges(element)[: 29 if element in FLOATS else 20]
    a, b = (each.reshape(-1) for each in np.meshgrid(values, values))
    words = {"f32": np.uint32, "f64": np.uint64}.get(element)
    if words is not None:
        any_ = np.random.default_rng(0).integers(0, np.iinfo(words).max, (2, 100), words, endpoint=True)
        a, b = (np.concatenate([each, more]) for each, more in zip((a, b), any_.view(DTYPES[element]), strict=True))
    return a.copy(), b.copy()


def defined_pairs(name: str, element: str) -> tuple[np.ndarray, np.ndarray]:
    """Pairs for which an operation is defined."""
    a, b = pairs(element)
    bits = bits_of(element)
    if name in SHIFTS:
        b = np.abs(b.astype(np.int64) % bits).astype(a.dtype)
    if name in DIVISIONS:
        b[b == 0] = 1
        b[(b == -1) & (a == -(1 << (bits - 1)))] = 1
    if name == "ipowi":
        b[(a == 0) & (b < 0)] = 1
    return a, b


@dataclass(frozen=True)
class LoopProgram:
    """One loop over arrays: each of `rows` computes `%r0`, `%r1`, ... from the elements `%a`, `%b`, ... of the arrays.

    `elements` has the element type of each array, `results` that of each result that is stored, by name.
    """

    name: str
    rows: tuple[str, ...]
    elements: tuple[str, ...]
    results: Mapping[str, str]
    arrays: tuple[np.ndarray, ...]

    def only(self, operations: Collection[str]) -> "LoopProgram":
        """Return the program with the rows of these operations, which are given by name."""
        rows = tuple(row for row in self.rows if _operation(row) in operations)
        kept = {name for row in rows for name in re.findall(r"%(r\d+)", row.partition(" = ")[0])}
        results = {name: element for name, element in self.results.items() if name in kept}
        return LoopProgram(self.name, rows, self.elements, results, self.arrays)

    @cached_property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """The arrays by the names of the inputs of `@main`."""
        return dict(zip("abc", self.arrays, strict=False))

    def module(self) -> ModuleOp:
        """Return the module, whose outputs are `yr0`, `yr1`, ..."""
        count = self.arrays[0].size
        operands = list(zip(self.inputs, self.elements, strict=True))
        arguments = [f'%m{name}: memref<{count}x{each}> {{nn.name = "{name}"}}' for name, each in operands]
        arguments += [
            f'%o{name}: memref<{count}x{each}> {{nn.result, nn.name = "y{name}"}}'
            for name, each in self.results.items()
        ]
        loads = [f"%{name} = memref.load %m{name}[%i] : memref<{count}x{each}>" for name, each in operands]
        stores = [f"memref.store %{name}, %o{name}[%i] : memref<{count}x{each}>" for name, each in self.results.items()]
        body = "\n    ".join([*loads, *self.rows, *stores])
        return parsed(f"""
func.func @main({", ".join(arguments)}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {count} : index
  scf.for %i = %c0 to %n step %c1 {{
    {body}
  }}
  func.return
}}
""")


def _operation(row: str) -> str:
    found = re.search(r'= "?([\w.]+)', row)
    assert found is not None, row
    return found[1]


def program(
    name: str, rows: Collection[str], elements: Collection[str], results: Collection[str], *arrays: np.ndarray
) -> LoopProgram:
    """Return the program of rows whose results `%r0`, `%r1`, ... have these element types."""
    stored = {f"r{position}": element for position, element in enumerate(results)}
    return LoopProgram(name, tuple(rows), tuple(elements), stored, arrays)


def binary_names(element: str) -> list[str]:
    """Operations of two operands of a type, by the ending of their names."""
    is_float = element in FLOATS
    found: list[str] = []
    for operation in (*INFIX, *FUNCTIONS):
        if not issubclass(operation, (arith.SignlessIntegerBinaryOperation, arith.FloatingPointLikeBinaryOperation)):
            continue
        if issubclass(operation, arith.FloatingPointLikeBinaryOperation) == is_float:
            found.append(operation.name)
    return found


def _binary_arithmetic(element: str) -> Iterator[LoopProgram]:
    for kind, is_of in (
        ("arithmetic", lambda name: name not in (*DIVISIONS, *SHIFTS)),
        ("divisions", lambda name: name in DIVISIONS),
        ("shifts", lambda name: name in SHIFTS),
    ):
        names = [name for name in binary_names(element) if is_of(name.removeprefix("arith."))]
        if names and not (element == "i1" and kind == "divisions"):
            rows = [f"%r{k} = {name} %a, %b : {element}" for k, name in enumerate(names)]
            arrays = defined_pairs(names[0].removeprefix("arith."), element)
            yield program(f"{kind}-{element}", rows, [element] * 2, [element] * len(names), *arrays)


def _comparisons_and_choices(element: str) -> LoopProgram:
    is_float = element in FLOATS
    predicates = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
    kind = "cmpf" if is_float else "cmpi"
    rows = [f"%r{k} = arith.{kind} {name}, %a, %b : {element}" for k, name in enumerate(predicates)]
    last = len(predicates)
    rows.append(f"%r{last} = arith.select %r2, %a, %b : {element}")
    return program(f"comparisons-{element}", rows, [element] * 2, ["i1"] * last + [element], *pairs(element))


def _integer_functions(element: str) -> LoopProgram:
    rows = [f"%r{k} = math.{name} %a : {element}" for k, name in enumerate(("absi", "ctlz", "cttz", "ctpop"))]
    rows.append(f"%r4 = math.ipowi %a, %b : {element}")
    rows.append(f'%r5, %r6 = "arith.mulsi_extended"(%a, %b) : ({element}, {element}) -> ({element}, {element})')
    rows.append(f'%r7, %r8 = "arith.mului_extended"(%a, %b) : ({element}, {element}) -> ({element}, {element})')
    rows.append(f'%r9, %r10 = "arith.addui_extended"(%a, %b) : ({element}, {element}) -> ({element}, i1)')
    arrays = defined_pairs("ipowi", element)
    return program(f"functions-{element}", rows, [element] * 2, [element] * 10 + ["i1"], *arrays)


EXACT_UNARY = (
    "math.absf",
    "math.ceil",
    "math.floor",
    "math.trunc",
    "math.round",
    "math.roundeven",
    "math.sqrt",
    "arith.negf",
)


def _exact_float_functions(element: str) -> LoopProgram:
    rows = [f"%r{k} = {name} %a : {element}" for k, name in enumerate(EXACT_UNARY)]
    rows.append(f"%r{len(rows)} = math.copysign %a, %b : {element}")
    if element in ("f32", "f64"):
        rows.append(f"%r{len(rows)} = math.fma %a, %b, %a : {element}")
    return program(f"functions-{element}", rows, [element] * 2, [element] * len(rows), *pairs(element))


def _integer_powers(element: str) -> LoopProgram:
    bases = np.array([0.5, -2.0, 3.0, -1.0, -0.0, np.inf, 1.5, -4.0], DTYPES[element])
    arrays = (each.reshape(-1).copy() for each in np.meshgrid(bases, np.arange(-3, 4, dtype=np.int32)))
    rows = [f"%r0 = math.fpowi %a, %b : {element}, i32"]
    return program(f"powers-{element}", rows, [element, "i32"], [element], *arrays)


def conversions() -> list[tuple[str, str, str]]:
    """Name, source and target of each conversion."""
    found: list[tuple[str, str, str]] = []
    for source in INTEGERS[:-1]:
        for target in INTEGERS[:-1]:
            if bits_of(target) > bits_of(source):
                found += [("extsi", source, target), ("extui", source, target)]
            if bits_of(target) < bits_of(source):
                found.append(("trunci", source, target))
        found += [("index_cast", source, "index"), ("index_cast", "index", source)]
        found += [(name, source, target) for name in ("sitofp", "uitofp") for target in FLOATS]
    for source in FLOATS:
        found += [("extf", source, target) for target in FLOATS if bits_of(target) > bits_of(source)]
        found += [("truncf", source, target) for target in FLOATS if bits_of(target) < bits_of(source)]
        found += [("bitcast", source, f"i{bits_of(source)}"), ("bitcast", f"i{bits_of(source)}", source)]
    return found


def _conversions(source: str) -> LoopProgram:
    chosen = [(name, target) for name, each, target in conversions() if each == source]
    rows = [f"%r{k} = arith.{name} %a : {source} to {target}" for k, (name, target) in enumerate(chosen)]
    return program(f"conversions-{source}", rows, [source], [target for _, target in chosen], edges(source))


def _floats_to_integers(source: str) -> LoopProgram:
    values = np.array([0.0, -0.0, 0.5, 1.5, 2.0, 6.99, 7.0, 3.25, 5.0], DTYPES[source])
    kinds = [(name, target) for name in ("fptosi", "fptoui") for target in INTEGERS[1:-1]]
    rows = [f"%r{k} = arith.{name} %a : {source} to {target}" for k, (name, target) in enumerate(kinds)]
    return program(f"integers-{source}", rows, [source], list(INTEGERS[1:-1]) * 2, values)


PROGRAMS: tuple[LoopProgram, ...] = (
    *(each for element in (*INTEGERS, *FLOATS) for each in _binary_arithmetic(element)),
    *map(_comparisons_and_choices, (*INTEGERS, *FLOATS)),
    *map(_integer_functions, (each for each in INTEGERS if each not in ("i1", "index"))),
    *map(_exact_float_functions, FLOATS),
    *map(_integer_powers, ("f32", "f64")),
    *map(_conversions, (*INTEGERS, *FLOATS)),
    *map(_floats_to_integers, FLOATS),
)
"""Every operation of `arith` and `math` whose result is the same everywhere, for every element type that it takes."""
