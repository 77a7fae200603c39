"""Functions, sums and composites of floats give the same bits as `nn`, as parts, at the integer level, and compiled."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from benchmarks.emitted import BUILDS, differing_bits, run_c
from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.attention import decompose as attention
from qmlir.dialects.nn.contraction import decompose as contraction
from qmlir.dialects.nn.dynamic import decompose as dynamic
from qmlir.dialects.nn.recurrent import decompose as recurrent
from qmlir.environment import default_environment
from qmlir.interpreter.run import interpret
from qmlir.text.parsing import parse_module

DTYPES: Mapping[str, npt.DTypeLike] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}

FUNCTIONS = (
    "celu", "celu {alpha = 0.7}", "elu", "elu {alpha = 0.7}", "erf", "exp", "gelu", "gelu {tanh_approximation = true}",
    "hard_sigmoid", "hard_sigmoid {alpha = 0.3, beta = 0.25}", "hard_swish", "leaky_relu",
    "local_response_norm {size = 3}", "local_response_norm {size = 4, alpha = 0.3, beta = 0.6, bias = 1.5}", "log",
    "log_softmax", "log_softmax {axis = 1}", "lp_norm", "lp_norm {p = 1, axis = 1}", "lp_norm {epsilon = 0.3}", "mish",
    "reciprocal", "selu", "selu {alpha = 1.3, gamma = 0.9}", "sigmoid", "softmax", "softmax {axis = 1}", "softplus",
    "softsign", "sqrt", "swish", "swish {alpha = 1.7}", "tanh", "thresholded_relu",
)  # fmt: skip
"""Of `%x`, with results like it."""

CHANNELS = (
    "batch_norm %x, %s, %b, %m, %v", "batch_norm %x, %s, %b, %m, %v {epsilon = 0.25}", "batch_norm %x, %s, %b",
    "instance_norm %x, %s, %b", "group_norm %x, %s, %b {groups = 2 : i64}", "group_norm %x, %s, %b {groups = 6 : i64}",
)  # fmt: skip
"""Of `%x` and of vectors with an element for each of its channels."""

ROWS = ("layer_norm %x, %w, %w", "layer_norm %x, %w", "layer_norm %x, %w, %w {epsilon = 0.25}", "rms_norm %x, %w")
"""Of `%x` and of vectors with an element for each of its columns."""

SMALLER = {
    **{f"reduce_{name} %x {{axes = array<i64: 1, 3>}}": (4, 1, 3, 1) for name in (
        "sum", "mean", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp",
    )},
    "average_pool %x {kernel = [2, 3], pads = [1, 0, 0, 1]}": (4, 6, 3, 6),
    "lp_pool %x {kernel = [2, 3]}": (4, 6, 2, 5),
    "global_average_pool %x": (4, 6, 1, 1),
}  # fmt: skip

TRAINING = "batch_norm_training %x, %s, %b, %m, %v"

SHAPE = (4, 6, 3, 7)

CASES = (*(name.replace(" ", " %x ", 1) if " " in name else f"{name} %x" for name in FUNCTIONS),
         *CHANNELS, *ROWS, *SMALLER, TRAINING)  # fmt: skip


def _tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _module(cases: Sequence[str], element: str) -> ModuleOp:
    """All `cases`, each with its results returned."""
    types = {"x": _tensor(SHAPE, element), "w": _tensor(SHAPE[-1:], element)}
    types |= dict.fromkeys("sbmv", _tensor(SHAPE[1:2], element))
    lines: list[str] = []
    given: list[tuple[str, str]] = []
    for position, case in enumerate(cases):
        operands = ", ".join(types[word[1]] for word in case.replace(",", " ").split() if word.startswith("%"))
        results = [types["x"], *[types["s"]] * 4] if case == TRAINING else [_tensor(SMALLER.get(case, SHAPE), element)]
        names = [f"%r{position}_{number}" for number in range(len(results))]
        lines.append(f"{', '.join(names)} = nn.{case} : ({operands}) -> ({', '.join(results)})")
        given.extend(zip(names, results, strict=True))
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
    returned = ", ".join(type_ for _, type_ in given)
    lines.append(f"func.return {', '.join(name for name, _ in given)} : {returned}")
    text = "\n".join(lines)
    return parse_module(default_environment().new_context(), f"func.func @main({arguments}) -> ({returned}) {{{text}}}")


def _inputs(seed: int, element: str) -> list[Array]:
    random = np.random.default_rng([seed, len(element)])
    x = random.standard_normal(SHAPE) * (3, 0.2, 20)[seed % 3]
    x.flat[:6] = 0, -0.0, 1e-40, -1e-40, 60000, -60000
    near = [random.uniform(0.5, 1.5, size) for size in (SHAPE[-1], SHAPE[1], SHAPE[1], SHAPE[1], SHAPE[1])]
    return [each.astype(DTYPES[element]) for each in (x, *near)]


def _transformed(module: ModuleOp, passes: Sequence[str]) -> ModuleOp:
    changed, context = module.clone(), default_environment().new_context()
    for name in passes:
        registry.load(registry.PASSES[name])().apply(context, changed)
    return changed


def _differing(cases: Sequence[str], found: Mapping[str, Array], wanted: Mapping[str, Array]) -> list[str]:
    """The cases of which some result has other bits; NaN is NaN."""
    owners = [case for case in cases for _ in range(5 if case == TRAINING else 1)]
    differing: list[str] = []
    for case, one, other in zip(owners, found.values(), wanted.values(), strict=True):
        integers = f"i{other.dtype.itemsize}"
        is_other = one.view(integers) != other.view(integers)
        if (is_other & ~(np.isnan(one.astype(np.float64)) & np.isnan(other.astype(np.float64)))).any():
            differing.append(case)
    return differing


LEVELS = (
    ["nn-decompose"],
    ["convert-nn-to-kernel"],
    ["nn-decompose", "convert-nn-to-kernel"],
    ["convert-nn-to-kernel", "math-expand"],
)


@pytest.mark.parametrize("element", DTYPES)
def test_levels_agree(element: str) -> None:
    module = _module(CASES, element)
    given = [_inputs(seed, element) for seed in range(3)]
    wanted = [interpret(module, inputs) for inputs in given]
    for passes in LEVELS:
        if element == "f64" and "math-expand" in passes:  # the C library's functions, and NumPy's
            continue
        changed = _transformed(module, passes)
        for inputs, expected in zip(given, wanted, strict=True):
            assert _differing(CASES, interpret(changed, inputs), expected) == [], passes


COMPILED = (
    *CHANNELS,
    TRAINING,
    "gelu %x",
    "selu %x",
    "hard_swish %x",
    "mish %x",
    "lp_norm %x",
    "softmax %x",
    *ROWS[:1],
)


def _check_compiled(cases: Sequence[str], element: str, emitter: str) -> None:
    module = _module(cases, element)
    program = qmlir.compile(module.clone(), codegen=emitter)
    for seed in range(3):
        inputs = _inputs(seed, element)
        found = program({f"input{position}": array for position, array in enumerate(inputs)})
        assert _differing(cases, found, interpret(module, inputs)) == [], emitter


def test_compiled_code_agrees() -> None:
    _check_compiled(COMPILED, "f32", "llvm")


@pytest.mark.sweep
@pytest.mark.parametrize("emitter", ["llvm", "numba"])
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_compiled_code_agrees_for_all(element: str, emitter: str) -> None:
    _check_compiled(CASES, element, emitter)


@pytest.mark.sweep
def test_c_agrees(tmp_path: Path) -> None:
    build = next(each for each in BUILDS if each.name == "gcc -O2")
    if not build.is_installed():
        pytest.skip("gcc is not installed")
    module, given = _module(COMPILED, "f32"), _inputs(0, "f32")
    wanted = interpret(module, given)
    inputs = {f"input{position}": array for position, array in enumerate(given)}
    ended, found = run_c(qmlir.emit(module.clone()), build, inputs, wanted, tmp_path)
    assert ended == 0
    assert differing_bits(wanted, found) == 0


def test_every_composite_has_a_case() -> None:
    """But those of products, whose sums have no fixed order, and of integers."""
    others = {each for family in (attention, contraction, dynamic, recurrent) for each in family.COMPOSITES}
    named = {f"nn.{case.split()[0]}" for case in CASES}
    composites = [each for each in registry.decompositions() if each.name.startswith("nn.")]
    assert [each.name for each in composites if each not in others and each.name not in named] == []
