"""A small input costs little: work in proportion to its size, and sizes that are only stated are refused first.

Work is the number of Python functions that are entered and of C functions that they call, which no other process
changes; where a program takes quadratic time in a few of these calls (a search in a list), `python -m
tests.unit.test_growth` shows processor time, too.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import qmlir
from qmlir.environment import default_environment
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from qmlir.text.printing import PrintOptions, module_text

LARGEST = 2.3
"""How much more work twice the size may be."""


def _port(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def _model(nodes: Any, inputs: Any, outputs: Any, initializers: Any = (), functions: Any = ()) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def _chain(count: int, operator: str = "Sigmoid", **attributes: Any) -> list[Any]:
    names = ["x", *(f"t{number}" for number in range(count))]
    return [
        helper.make_node(operator, [names[number]], [names[number + 1]], name=f"n{number}", **attributes)
        for number in range(count)
    ]


def split_outputs(n: int) -> onnx.ModelProto:
    names = [f"y{number}" for number in range(n)]
    return _model(
        [helper.make_node("Split", ["x"], names, num_outputs=n)], [_port("x", n)], [_port(y, 1) for y in names]
    )


def split_used(n: int) -> onnx.ModelProto:
    names = [f"t{number}" for number in range(n)]
    nodes = [helper.make_node("Split", ["x"], names, num_outputs=n), helper.make_node("Concat", names, ["y"], axis=0)]
    return _model(nodes, [_port("x", n)], [_port("y", n)])


def nodes(n: int) -> onnx.ModelProto:
    return _model(_chain(n), [_port("x", 4)], [_port(f"t{n - 1}", 4)])


def nodes_of_one_name(n: int) -> onnx.ModelProto:
    chain = _chain(n)
    for node in chain:
        node.name = "same"
    return _model(chain, [_port("x", 4)], [_port(f"t{n - 1}", 4)])


def inputs(n: int) -> onnx.ModelProto:
    names = [f"x{number}" for number in range(n)]
    return _model([helper.make_node("Concat", names, ["y"], axis=0)], [_port(x, 1) for x in names], [_port("y", n)])


def outputs(n: int) -> onnx.ModelProto:
    names = [f"y{number}" for number in range(n)]
    return _model([helper.make_node("Neg", ["x"], [y]) for y in names], [_port("x", 4)], [_port(y, 4) for y in names])


def initializers(n: int) -> onnx.ModelProto:
    names = ["x", *(f"t{number}" for number in range(n))]
    added = [helper.make_node("Add", [names[k], f"w{k}"], [names[k + 1]], name=f"n{k}") for k in range(n)]
    weights = [numpy_helper.from_array(np.full(4, number, np.float32), f"w{number}") for number in range(n)]
    return _model(added, [_port("x", 4)], [_port(names[-1], 4)], weights)


def functions(n: int) -> onnx.ModelProto:
    made = [
        helper.make_function("my", f"F{k}", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])],
                             [helper.make_opsetid("", 21)])
        for k in range(n)
    ]  # fmt: skip
    chain = _chain(n)
    for number, node in enumerate(chain):
        node.op_type, node.domain = f"F{number}", "my"
    return _model(chain, [_port("x", 4)], [_port(f"t{n - 1}", 4)], (), made)


def _if(name: str, then: Any, other: str) -> onnx.NodeProto:
    """`If` on "c": the nodes `then`, which give "<name>t", or the negative of `other`."""
    branch = helper.make_graph(then, "then", [], [_port(f"{name}t", 4)])
    negative = [helper.make_node("Neg", [other], [f"{name}e"])]
    otherwise = helper.make_graph(negative, "else", [], [_port(f"{name}e", 4)])
    return helper.make_node("If", ["c"], [name], name=name, then_branch=branch, else_branch=otherwise)


def _chosen(nodes: Any, output: str) -> onnx.ModelProto:
    condition = helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, ())
    return _model(nodes, [_port("x", 4), condition], [_port(output, 4)])


def nested_choices(n: int) -> onnx.ModelProto:
    """Choices in choices, a fifth of `n` deep: protobuf reads up to 32."""
    nodes = [helper.make_node("Sigmoid", ["x"], ["y0t"])]
    for number in range(n // 5):
        nodes = [_if(f"y{number}", nodes, "x"), helper.make_node("Neg", [f"y{number}"], [f"y{number + 1}t"])]
    return _chosen(nodes, f"y{n // 5}t")


def choices(n: int) -> onnx.ModelProto:
    """Choices by one condition, of branches that differ in what they read alone."""
    names = ["x", *(f"y{number}" for number in range(n))]
    made = [
        _if(names[k + 1], [helper.make_node("Sigmoid", [names[k]], [f"{names[k + 1]}t"])], names[k]) for k in range(n)
    ]
    return _chosen(made, names[-1])


def loops(n: int) -> onnx.ModelProto:
    """Loops that end by a condition, each of which begins with constants that fold."""
    held = {"trip": np.array(3), "true": np.array(True), "ten": np.array(10, np.float32)}
    step = helper.make_tensor_value_info("i", onnx.TensorProto.INT64, ())
    before, after = (helper.make_tensor_value_info(name, onnx.TensorProto.BOOL, ()) for name in ("b", "d"))
    body = helper.make_graph(
        [
            helper.make_node("Sigmoid", ["s"], ["t"]),
            helper.make_node("ReduceSum", ["t"], ["r"], keepdims=0),
            helper.make_node("Less", ["r", "ten"], ["d"]),
        ],
        "body",
        [step, before, _port("s", 4)],
        [after, _port("t", 4)],
    )
    names = ["x", *(f"y{number}" for number in range(n))]
    made = [
        helper.make_node("Loop", ["trip", "true", names[k]], [names[k + 1]], name=names[k + 1], body=body)
        for k in range(n)
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in held.items()]
    return _model(made, [_port("x", 4)], [_port(names[-1], 4)], constants)


MODELS = (
    split_outputs,
    split_used,
    nodes,
    nodes_of_one_name,
    inputs,
    outputs,
    initializers,
    functions,
    nested_choices,
    choices,
    loops,
)

_F = "tensor<4xf32>"


def _main(body: str, arguments: str = f"%x: {_F}", returned: str = "%x") -> str:
    return f"func.func @main({arguments}) -> {_F} {{\n{body}  func.return {returned} : {_F}\n}}\n"


def symbols(n: int) -> str:
    return "".join(f"func.func @f{k}(%x: {_F}) -> {_F} {{\n  func.return %x : {_F}\n}}\n" for k in range(n))


def calls(n: int) -> str:
    names = ["x", *map(str, range(n))]
    body = "".join(f"  %{names[k + 1]} = func.call @f{k}(%{names[k]}) : ({_F}) -> {_F}\n" for k in range(n))
    return symbols(n).replace("func.func @", "func.func private @") + _main(body, returned=f"%{n - 1}")


def attributes(n: int) -> str:
    named = ", ".join(f"a{number} = {number} : i64" for number in range(n))
    return _main(f"  %0 = nn.relu %x : {_F} {{{named}}}\n", returned="%0")


def arguments(n: int) -> str:
    return _main("", ", ".join(f"%{'x' if k == 0 else f'a{k}'}: {_F}" for k in range(n)))


def operations(n: int) -> str:
    names = ["x", *map(str, range(n))]
    body = "".join(f"  %{names[k + 1]} = nn.sigmoid %{names[k]} : {_F}\n" for k in range(n))
    return _main(body, returned=f"%{n - 1}")


def dead_operations(n: int) -> str:
    return operations(n).replace(f"func.return %{n - 1}", "func.return %x")


def equal_operations(n: int) -> str:
    body = "".join(f"  %{k} = nn.sigmoid %x : {_F}\n" for k in range(n))
    added = "".join(f"  %s{k} = nn.add %{k}, %{k} : {_F}\n" for k in range(n))
    return _main(body + added, returned=f"%s{n - 1}")


def slices(n: int) -> str:
    """Operations of one operand that differ in their attributes."""
    body = "".join(f"  %{k} = nn.clip %x {{minimum = {-k - 1}.0, maximum = 1.0}} : {_F}\n" for k in range(n))
    added = "".join(f"  %s{k} = nn.add %{k}, %{'x' if not k else f's{k - 1}'} : {_F}\n" for k in range(n))
    return _main(body + added, returned=f"%s{n - 1}")


def constants(n: int) -> str:
    return _main("".join(f"  %{k} = arith.constant dense<{k}.0> : {_F}\n" for k in range(n)))


def nested_loops(n: int) -> str:
    """Loops in loops, as deep as `n`, but for the largest: Python's stack ends the parser there."""
    values = ["%x", *(f"%a{k}" for k in range(min(n, 100)))]
    heads = (
        f"  %v{k} = scf.for %i{k} = %low to %high step %high iter_args({values[k + 1]} = {values[k]}) -> ({_F}) {{\n"
        for k in range(len(values) - 1)
    )
    tails = (f"  scf.yield %v{k + 1} : {_F}\n  }}\n" for k in reversed(range(len(values) - 1)))
    bounds = "  %low = arith.constant 0 : index\n  %high = arith.constant 1 : index\n"
    inner = f"  %v{len(values) - 1} = nn.sigmoid {values[-1]} : {_F}\n"
    return _main(bounds + "".join(heads) + inner + "".join(tails), returned="%v0")


TEXTS = (
    nested_loops,
    symbols,
    calls,
    attributes,
    arguments,
    operations,
    dead_operations,
    equal_operations,
    slices,
    constants,
)

Stage = Callable[[], object]


def _stages(made: onnx.ModelProto | str) -> Iterator[tuple[str, Stage]]:
    """What is done with an input, each with its name."""
    if isinstance(made, str):
        context = default_environment().new_context
        module = parse_module(context(), made)
        yield "parse", lambda: parse_module(context(), made)
        passes = ("canonicalize", "cse", "dce", "inline")
    else:
        module = qmlir.load(made)
        text = str(module)
        yield "import", lambda: qmlir.load(made)
        yield "inspect", lambda: str(qmlir.inspect(module))
        yield "parse", lambda: parse_module(default_environment().new_context(), text)
        passes = ("canonicalize", "cse", "dce", "fix-shapes,nn-decompose,convert-nn-to-kernel")
    yield "verify", lambda: verify(module)
    yield "print", lambda: module_text(module, PrintOptions())
    yield "print generic", lambda: module_text(module, PrintOptions(generic=True))
    for each in passes:
        clone = module.clone()
        yield each, lambda each=each, clone=clone: run_pipeline(clone, each)


def _work(stage: Stage) -> int:
    """How many functions a stage enters and calls."""
    entered = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        stage()
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize("make", [*MODELS, *TEXTS], ids=lambda make: make.__name__)
def test_twice_the_size_is_twice_the_work(make: Callable[[int], onnx.ModelProto | str]) -> None:
    sizes = (10, 20) if make is loops else (40, 80)  # a loop has many operations
    for _, stage in _stages(make(sizes[0])):  # what is loaded and cached once
        stage()
    counts = [{name: _work(stage) for name, stage in _stages(make(size))} for size in sizes]
    for name, count in counts[0].items():
        assert counts[1][name] <= LARGEST * count, f"{name}: {count}, {counts[1][name]}"


@pytest.mark.parametrize("make", [split_used, choices], ids=lambda make: make.__name__)
def test_quantizing_twice_the_size_is_twice_the_work(make: Callable[[int], onnx.ModelProto]) -> None:
    def work(size: int) -> int:
        module = qmlir.load(make(size))
        samples = [random_inputs(function_of(module, "main"), seed, {}) for seed in range(2)]
        return _work(lambda: qmlir.quantize(module, samples, min_sqnr=None))

    work(2)
    counts = [work(size) for size in (12, 24)]
    assert counts[1] <= LARGEST * counts[0], counts


def _one(operator: str, attributes: dict[str, Any], *constants: Any, shape: tuple[int, ...] = (1, 1, 2, 2)) -> Any:
    names = ["x", *(f"c{number}" for number in range(len(constants)))]
    held = [numpy_helper.from_array(np.asarray(each), name) for name, each in zip(names[1:], constants, strict=True)]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    node = helper.make_node(operator, names, ["y"], name="n1", **attributes)
    return _model([node], [_port("x", *shape)], [output], held)


_KERNEL = np.ones((1, 1, 1, 1), np.float32)
_TWO = np.ones((1, 1, 2, 1), np.float32)


def _steps(big: int) -> dict[str, onnx.ModelProto]:
    half = big // 2
    far = {"strides": [big, 1], "pads": [half, 0, half - 3, 0]}
    pool = {"kernel_shape": [big, 1], "pads": [big - 1, 0, big - 1, 0], "strides": [big, 1]}
    return {
        "stride of ConvTranspose": _one("ConvTranspose", far, _KERNEL),
        "dilation of ConvTranspose": _one("ConvTranspose", {"dilations": [big, 1], "pads": [half, 0, half, 0]}, _TWO),
        "dilation of Conv": _one("Conv", {"dilations": [big, 1], "pads": [big, 0, big, 0], "strides": [big, 1]}, _TWO),
        "window of MaxPool": _one("MaxPool", pool),
        "window of AveragePool": _one("AveragePool", {**pool, "count_include_pad": 1}),
        "window of LpPool": _one("LpPool", pool),
    }


@pytest.mark.parametrize("name", _steps(8))
def test_steps_that_no_place_holds_are_refused_before_work_starts(name: str) -> None:
    with pytest.raises(DiagnosticError, match=r"node 'n1': .* must be at most 2147483647, but got \[") as raised:
        qmlir.load(_steps(1 << 40)[name])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name in _steps(8) if "Pool" in name])
def test_windows_of_many_elements_are_refused(name: str) -> None:
    with pytest.raises(
        DiagnosticError, match=r"node 'n1': the number of elements in a window is .*, over the limit of"
    ):
        qmlir.load(_steps((1 << 31) - 1)[name])


@pytest.mark.parametrize("stride", [7, (1 << 31) - 1])
def test_a_transposed_convolution_makes_phases_for_its_taps_only(stride: int) -> None:
    """The result has 4 rows of the 2 * stride + … that the kernel reaches: at most one of the data is in them."""
    pads = [stride // 2, 0, stride + 1 - stride // 2 - 4, 0]
    module = qmlir.load(_one("ConvTranspose", {"strides": [stride, 1], "pads": pads}, _KERNEL))
    values = random_inputs(function_of(module, "main"), 0, {})
    assert _work(lambda: qmlir.interpret(module, values)) < 1_000_000
    assert _work(lambda: run_pipeline(module.clone(), "convert-nn-to-kernel")) < 1_000_000


def test_a_result_that_no_arena_holds_is_refused_before_tables_are_made() -> None:
    scales = np.array([1, 1, 1 << 30, 1], np.float32)
    module = qmlir.load(_one("Resize", {}, np.zeros(0, np.float32), scales))
    message = r"'nn.resize' op \(n1\) result '.*' is too large: its size in bytes is .*, over the limit of"
    with pytest.raises(DiagnosticError, match=message):
        run_pipeline(module, "convert-nn-to-kernel")


def _show() -> None:
    gc.disable()  # a collection, at any time, goes over all that there is
    for make in (*MODELS, *TEXTS):
        sizes = 500, 1000, 2000
        times: dict[str, list[float]] = {}
        for size in sizes:
            for name, stage in _stages(make(size)):
                began = time.process_time()
                stage()
                times.setdefault(name, []).append(time.process_time() - began)
        for name, found in times.items():
            ratios = " ".join(f"{b / max(a, 1e-3):.2f}" for a, b in pairwise(found))
            print(f"{make.__name__:20} {name:45} {' '.join(f'{each:7.3f}' for each in found)} s  {ratios}")


if __name__ == "__main__":
    _show()
