"""Every operation of `arith` and `math` that has a compiled form: equal to the interpreter on edge values."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import arith, math

from qmlir.interpreter.run import interpret
from qmlir.targets.cpu.emitters.numba.families import EMISSIONS
from qmlir.targets.cpu.emitters.numba.families.scalars import CONVERSIONS, FUNCTIONS, INFIX
from tests.support.emitted import assert_equal_outputs, compiled_outputs, parsed

INTEGERS = ("i1", "i4", "i8", "i16", "i32", "i64", "index")
FLOATS = ("f16", "bf16", "f32", "f64")
DTYPES = {
    "i1": np.int8, "i4": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip

DIVISIONS = ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui", "remsi", "remui")
SHIFTS = ("shli", "shrsi", "shrui")

LIBM = {
    name for name in FUNCTIONS.values()
    if name in ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "exp", "exp2",
                "expm1", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh", "rsqrt")
}  # fmt: skip
"""Functions that NumPy and libm round differently in the last place."""


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
    """All pairs of some edge values, one array each."""
    values = edges(element)[: 29 if element in FLOATS else 20]
    a, b = np.meshgrid(values, values)
    return a.reshape(-1).copy(), b.reshape(-1).copy()


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


def elementwise_module(rows: list[str], operands: list[tuple[str, int]], results: list[str]) -> str:
    """A loop over elements: `%r0 = …` of `%a`, `%b`, … for each result."""
    letters = "abc"
    arguments = [f"%m{letters[k]}: memref<{n}x{e}>" for k, (e, n) in enumerate(operands)]
    count = operands[0][1]
    arguments += [f"%o{k}: memref<{count}x{e}> {{nn.result}}" for k, e in enumerate(results)]
    loads = [f"%{letters[k]} = memref.load %m{letters[k]}[%i] : memref<{n}x{e}>" for k, (e, n) in enumerate(operands)]
    stores = [f"memref.store %r{k}, %o{k}[%i] : memref<{count}x{e}>" for k, e in enumerate(results)]
    body = "\n    ".join([*loads, *rows, *stores])
    return f"""
func.func @main({", ".join(arguments)}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {count} : index
  scf.for %i = %c0 to %n step %c1 {{
    {body}
  }}
  func.return
}}
"""


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


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS])
def test_binary_arithmetic(element: str, tmp_path: Path) -> None:
    for group in (lambda n: n not in (*DIVISIONS, *SHIFTS), lambda n: n in DIVISIONS, lambda n: n in SHIFTS):
        names = [name for name in binary_names(element) if group(name.removeprefix("arith."))]
        if not names or (element == "i1" and group("divsi")):
            continue
        a, b = defined_pairs(names[0].removeprefix("arith."), element)
        rows = [f"%r{k} = {name} %a, %b : {element}" for k, name in enumerate(names)]
        text = elementwise_module(rows, [(element, a.size), (element, b.size)], [element] * len(names))
        assert_equal_outputs(parsed(text), [a, b], tmp_path)


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS])
def test_comparisons_and_choices(element: str, tmp_path: Path) -> None:
    is_float = element in FLOATS
    predicates = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
    kind = "cmpf" if is_float else "cmpi"
    rows = [f"%r{k} = arith.{kind} {name}, %a, %b : {element}" for k, name in enumerate(predicates)]
    last = len(predicates)
    rows.append(f"%r{last} = arith.select %r2, %a, %b : {element}")
    a, b = pairs(element)
    results = ["i1"] * last + [element]
    text = elementwise_module(rows, [(element, a.size), (element, b.size)], results)
    assert_equal_outputs(parsed(text), [a, b], tmp_path)


@pytest.mark.parametrize("element", [e for e in INTEGERS if e not in ("i1", "index")])
def test_integer_functions(element: str, tmp_path: Path) -> None:
    a, b = defined_pairs("ipowi", element)
    rows = [f"%r{k} = math.{name} %a : {element}" for k, name in enumerate(("absi", "ctlz", "cttz", "ctpop"))]
    rows.append(f"%r4 = math.ipowi %a, %b : {element}")
    rows.append(f'%r5, %r6 = "arith.mulsi_extended"(%a, %b) : ({element}, {element}) -> ({element}, {element})')
    rows.append(f'%r7, %r8 = "arith.mului_extended"(%a, %b) : ({element}, {element}) -> ({element}, {element})')
    rows.append(f'%r9, %r10 = "arith.addui_extended"(%a, %b) : ({element}, {element}) -> ({element}, i1)')
    text = elementwise_module(rows, [(element, a.size), (element, b.size)], [element] * 10 + ["i1"])
    assert_equal_outputs(parsed(text), [a, b], tmp_path)


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


@pytest.mark.parametrize("element", FLOATS)
def test_exact_float_functions(element: str, tmp_path: Path) -> None:
    a, b = pairs(element)
    rows = [f"%r{k} = {name} %a : {element}" for k, name in enumerate(EXACT_UNARY)]
    rows.append(f"%r{len(rows)} = math.copysign %a, %b : {element}")
    if element in ("f32", "f64"):
        rows.append(f"%r{len(rows)} = math.fma %a, %b, %a : {element}")
    text = elementwise_module(rows, [(element, a.size), (element, b.size)], [element] * len(rows))
    assert_equal_outputs(parsed(text), [a, b], tmp_path)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_functions_of_libm(element: str, tmp_path: Path) -> None:
    """Within two units of the last place of NumPy."""
    operations = [op for op, name in FUNCTIONS.items() if name in LIBM]
    binary = (math.Atan2Op, math.PowFOp)
    rows = [f"%r{k} = {op.name} {'%a, %b' if op in binary else '%a'} : {element}" for k, op in enumerate(operations)]
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.01, 0.99, 100).astype(DTYPES[element]) for _ in range(2))
    text = elementwise_module(rows, [(element, a.size), (element, b.size)], [element] * len(rows))
    module = parsed(text)
    found = compiled_outputs(module, [a, b], tmp_path)
    expected = interpret(module, [a, b])
    bound = 3 * np.finfo(DTYPES[element]).eps
    for op, name in zip(operations, found, strict=True):
        finite = np.isfinite(expected[name])
        assert (np.isfinite(found[name]) == finite).all(), op.name
        np.testing.assert_allclose(found[name][finite], expected[name][finite], rtol=bound, err_msg=op.name)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_integer_powers_of_floats(element: str, tmp_path: Path) -> None:
    bases = np.array([0.5, -2.0, 3.0, -1.0, -0.0, np.inf, 1.5, -4.0], DTYPES[element])
    a, b = (each.reshape(-1).copy() for each in np.meshgrid(bases, np.arange(-3, 4, dtype=np.int32)))
    text = elementwise_module(
        [f"%r0 = math.fpowi %a, %b : {element}, i32"], [(element, a.size), ("i32", b.size)], [element]
    )
    assert_equal_outputs(parsed(text), [a, b], tmp_path)


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


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS])
def test_conversions(source: str, tmp_path: Path) -> None:
    chosen = [(name, target) for name, each, target in conversions() if each == source]
    assert {f"arith.{name}" for name, *_ in conversions()} | {"arith.fptosi", "arith.fptoui"} == {
        op.name for op in CONVERSIONS
    }
    rows = [f"%r{k} = arith.{name} %a : {source} to {target}" for k, (name, target) in enumerate(chosen)]
    a = edges(source)
    text = elementwise_module(rows, [(source, a.size)], [target for _, target in chosen])
    assert_equal_outputs(parsed(text), [a], tmp_path)


@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_integers(source: str, tmp_path: Path) -> None:
    a = np.array([0.0, -0.0, 0.5, 1.5, 2.0, 6.99, 7.0, 3.25, 5.0], DTYPES[source])
    kinds = [(name, target) for name in ("fptosi", "fptoui") for target in INTEGERS[1:-1]]
    rows = [f"%r{k} = arith.{name} %a : {source} to {target}" for k, (name, target) in enumerate(kinds)]
    text = elementwise_module(rows, [(source, a.size)], list(INTEGERS[1:-1]) * 2)
    assert_equal_outputs(parsed(text), [a], tmp_path)


def test_undefined_results_do_not_stop_the_process(tmp_path: Path) -> None:
    for element in ("i8", "i32", "i64"):
        names = DIVISIONS
        rows = [f"%r{k} = arith.{name} %a, %b : {element}" for k, name in enumerate(names)]
        a, b = pairs(element)
        text = elementwise_module(rows, [(element, a.size), (element, b.size)], [element] * len(names))
        compiled_outputs(parsed(text), [a, b], tmp_path)


def test_every_operation_of_the_tables_is_emitted() -> None:
    assert {*INFIX, *FUNCTIONS, *CONVERSIONS} <= set(EMISSIONS)
