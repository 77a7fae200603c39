"""Which values of two modules are the same value of the model: by parts, composites, tensors and fused operations."""

from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.environment import default_environment
from qmlir.ir.verification import verify
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.workflows.comparison.names import matched, module_names
from qmlir.workflows.comparison.subjects import ModuleSubject
from tests.unit.workflows.comparison.models import FLOAT, QUANTIZED, parsed


def keys(module: Any) -> list[str]:
    return [name.key for name in module_names(module).names]


def pairs(reference: Any, candidate: Any) -> dict[str, str]:
    return matched(module_names(reference).names, module_names(candidate).names)


def lowered(module: Any, pipeline: str) -> Any:
    environment = default_environment()
    clone = module.clone()
    PassManager(environment.new_context(), parse_pipeline(pipeline, environment.passes)).run(clone)
    verify(clone)
    return clone


def of_x(body: str) -> Any:
    return parsed(body, "tensor<2xf32>", "tensor<2xf32>")


def test_names_of_a_float_module_and_of_a_quantized_one() -> None:
    # No weight, no cast; the input is what the cast makes of it.
    assert keys(parsed(FLOAT)) == keys(parsed(QUANTIZED)) == ["x", "fc1", "act", "output:y"]
    types = [(name.operation, name.type) for name in module_names(parsed(QUANTIZED)).names]
    assert types == [
        ("quant.qcast", "i8"), ("nn.fully_connected", "i8"), ("nn.relu", "i8"), ("output", "f32"),
    ]  # fmt: skip
    assert [name.is_limited for name in module_names(parsed(QUANTIZED)).names] == [False, True, False, False]


def test_a_composite_is_its_last_part_both_ways() -> None:
    whole = parsed(
        """
  %w = nn.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32> {origin = "w"}
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> {origin = "b"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<?x1xf32>, tensor<2x1xf32>, tensor<2xf32>) -> tensor<?x2xf32>
      {origin = "fc1"}
  %1 = nn.relu %0 : tensor<?x2xf32> {origin = "act"}
  func.return %1 : tensor<?x2xf32>"""
    )
    parts = lowered(whole, "nn-decompose")
    assert keys(parts) == ["x", "fc1/matmul", "fc1/bias_add", "act", "output:y"]
    assert pairs(whole, parts)["fc1"] == "fc1/bias_add"
    assert pairs(parts, whole) == {"x": "x", "fc1/bias_add": "fc1", "act": "act", "output:y": "output:y"}


def test_several_results_of_a_composite_are_told_apart() -> None:
    whole = parsed(
        """
  %w = nn.constant dense<0.5> : tensor<1x8x1xf32> {origin = "w"}
  %r = nn.constant dense<0.25> : tensor<1x8x2xf32> {origin = "r"}
  %0, %1, %2 = nn.lstm %x, %w, %r {hidden_size = 2} : (tensor<2x1x1xf32>, tensor<1x8x1xf32>, tensor<1x8x2xf32>)
      -> (tensor<2x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) {origin = "lstm"}
  %3 = nn.add %1, %2 : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {origin = "sum"}
  func.return %3 : tensor<1x1x2xf32>""",
        "tensor<2x1x1xf32>",
        "tensor<1x1x2xf32>",
    )
    parts = lowered(whole, "nn-decompose")
    found = pairs(whole, parts)
    hidden, cell = found["lstm#1"], found["lstm#2"]
    assert hidden != cell
    assert "cell" in cell
    assert pairs(parts, whole)[cell] == "lstm#2"


def test_several_kinds_of_operations_of_one_node() -> None:
    body = """
  %0 = nn.abs %x : tensor<2xf32> {origin = "n"}
  %1 = nn.relu %0 : tensor<2xf32> {origin = "n"}
  func.return %1 : tensor<2xf32>"""
    # As keys of profiles: the last kind gives what the node gives.
    assert keys(of_x(body)) == ["x", "n:nn.abs", "n", "output:y"]
    other = of_x('%0 = nn.relu %x : tensor<2xf32> {origin = "n"}\nfunc.return %0 : tensor<2xf32>')
    assert pairs(of_x(body), other) == {"x": "x", "n": "n", "output:y": "output:y"}


def test_a_fused_operation_gives_the_value_of_its_last_node() -> None:
    apart = of_x(
        """
  %0 = nn.abs %x : tensor<2xf32> {origin = "a"}
  %1 = nn.neg %0 : tensor<2xf32> {origin = "b"}
  func.return %1 : tensor<2xf32>"""
    )
    fused = of_x(
        """
  %0 = nn.relu %x : tensor<2xf32> {origin = ["a", "b"]}
  func.return %0 : tensor<2xf32>"""
    )
    assert pairs(apart, fused) == {"x": "x", "b": "a+b", "output:y": "output:y"}
    assert pairs(fused, apart) == {"x": "x", "a+b": "b", "output:y": "output:y"}


def test_a_tensor_of_the_model_is_found_under_another_node() -> None:
    one = of_x('%0 = nn.abs %x : tensor<2xf32> {origin = "a", tensor = "t"}\nfunc.return %0 : tensor<2xf32>')
    other = of_x('%0 = nn.relu %x : tensor<2xf32> {origin = "z", tensor = "t"}\nfunc.return %0 : tensor<2xf32>')
    assert pairs(one, other)["a"] == "z"


def test_a_node_whose_name_begins_another_s_is_no_whole_of_it() -> None:
    one = of_x('%0 = nn.abs %x : tensor<2xf32> {origin = "block"}\nfunc.return %0 : tensor<2xf32>')
    other = of_x('%0 = nn.relu %x : tensor<2xf32> {origin = "block/relu"}\nfunc.return %0 : tensor<2xf32>')
    assert "block" not in pairs(one, other)


def test_numbers_among_their_like_count_where_there_are_as_many() -> None:
    two = "%0 = nn.abs %x : tensor<2xf32>\n%1 = nn.abs %0 : tensor<2xf32>\nfunc.return %1 : tensor<2xf32>"
    one = "%0 = nn.abs %x : tensor<2xf32>\nfunc.return %0 : tensor<2xf32>"
    assert keys(of_x(two)) == ["x", "nn.abs[0]", "nn.abs[1]", "output:y"]
    assert pairs(of_x(two), of_x(two))["nn.abs[1]"] == "nn.abs[1]"
    assert pairs(of_x(two), of_x(one)) == {"x": "x", "output:y": "output:y"}


def test_a_value_is_limited_through_what_moves_it() -> None:
    q = "tensor<2x!quant.uniform<i8:f32, 1.0:-128>>"
    moved = "tensor<1x2x!quant.uniform<i8:f32, 1.0:-128>>"
    body = f"""
  %0 = quant.qcast %x : tensor<2xf32> to {q}
  %1 = nn.neg %0 : {q} {{origin = "a"}}
  %2 = nn.unsqueeze %1 {{axes = [0]}} : ({q}) -> {moved} {{origin = "m"}}
  %3 = nn.LAST %2 : {moved} {{origin = "r"}}
  %4 = quant.dcast %3 : {moved} to tensor<1x2xf32>
  func.return %4 : tensor<1x2xf32>"""
    for last, expected in (("relu", [False, True, True, False]), ("neg", [False] * 4)):
        module = parsed(body.replace("LAST", last), "tensor<2xf32>", "tensor<1x2xf32>")
        assert [name.is_limited for name in module_names(module).names][:4] == expected


@pytest.mark.parametrize(("zero_point", "is_limited"), [(-78, True), (-128, False)])  # from -4 and from 0 on
def test_a_value_is_limited_where_a_gelu_is_flat(zero_point: int, is_limited: bool) -> None:
    q = f"tensor<2x!quant.uniform<i8:f32, 0.08:{zero_point}>>"
    body = f"""
  %0 = quant.qcast %x : tensor<2xf32> to {q}
  %1 = nn.neg %0 : {q} {{origin = "a"}}
  %2 = nn.gelu %1 : {q} {{origin = "g"}}
  %3 = quant.dcast %2 : {q} to tensor<2xf32>
  func.return %3 : tensor<2xf32>"""
    module = parsed(body, "tensor<2xf32>", "tensor<2xf32>")
    assert [name.is_limited for name in module_names(module).names][:3] == [False, is_limited, False]


def test_a_fused_operation_is_found_by_the_tensor_that_it_gives() -> None:
    """Whatever the order of its nodes: a normalization that went into the convolution behind it, or before it."""
    apart = of_x(
        """
  %0 = nn.abs %x : tensor<2xf32> {origin = "conv", tensor = "c"}
  %1 = nn.neg %0 : tensor<2xf32> {origin = "norm", tensor = "n"}
  func.return %1 : tensor<2xf32>"""
    )
    for origins in ('["conv", "norm"]', '["norm", "conv"]', '"other"'):
        folded = of_x(
            f"""
  %0 = nn.abs %x : tensor<2xf32> {{origin = {origins}, tensor = "n"}}
  func.return %0 : tensor<2xf32>"""
        )
        assert pairs(apart, folded)["norm"] == keys(folded)[1]
        assert "conv" not in pairs(apart, folded)


def test_a_convolution_with_a_folded_batch_norm_is_compared_with_the_batch_norm() -> None:
    batched, channels = "tensor<?x2x4x4xf32>", "tensor<2xf32>"
    constants = {"s": [3.0, -2.0], "o": [5.0, -4.0], "m": [1.0, 0.5], "v": [0.25, 4.0]}
    body = f"""
  %w = nn.constant dense<[[[[1.0]], [[0.5]]], [[[-0.25]], [[2.0]]]]> : tensor<2x2x1x1xf32> {{origin = "w"}}
  {"".join(f"%{name} = nn.constant dense<{found}> : {channels}{chr(10)}  " for name, found in constants.items())}
  %0 = nn.conv %x, %w : ({batched}, tensor<2x2x1x1xf32>) -> {batched} {{origin = "conv", tensor = "c"}}
  %1 = nn.batch_norm %0, %s, %o, %m, %v : ({batched}, {", ".join([channels] * 4)}) -> {batched} NAME
  %2 = nn.sigmoid %1 : {batched} {{origin = "last"}}
  func.return %2 : {batched}"""
    samples = np.random.default_rng(0).normal(size=(16, 2, 4, 4)).astype(np.float32)
    for name in ('{origin = "norm", tensor = "n"}', '{origin = "norm"}'):
        model = parsed(body.replace("NAME", name), batched, batched)
        quantized = qmlir.quantize(model, {"x": samples}).module
        found = pairs(model, quantized)
        assert found["norm"] == "conv+norm"
        assert "conv" not in found
        reference = ModuleSubject(model).values({"x": samples})
        value = ModuleSubject(quantized).values({"x": samples})["conv+norm"][0]
        signal, noise = np.square(reference["norm"][0]).sum(), np.square(reference["norm"][0] - value).sum()
        assert 10 * np.log10(signal / noise) > 25
        assert np.abs(reference["conv"][0] - value).max() > 1
