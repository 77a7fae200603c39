"""Which passes changed a node, on modules small enough to see it."""

from qmlir.environment import default_environment
from qmlir.passmanager.instrumentation import PassChange, ProvenanceChanges
from qmlir.passmanager.manager import PassManager
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.text.parsing import parse_module

MODULE = """
func.func @main(%x: tensor<1x4xf32>) -> (tensor<1x2xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x4xf32> {origin = "w"}
  %b = nn.constant dense<2.0> : tensor<2xf32> {origin = "b"}
  %0 = nn.fully_connected %x, %w, %b : (tensor<1x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<1x2xf32>
      {origin = "fc1"}
  %1 = nn.relu %x : tensor<1x4xf32> {origin = "r1"}
  %2 = nn.relu %x : tensor<1x4xf32> {origin = "r2"}
  %unused = nn.abs %x : tensor<1x4xf32> {origin = "gone"}
  func.return %0, %1, %2 : tensor<1x2xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}
"""


def changes_of(text: str, pipeline: str) -> ProvenanceChanges:
    environment = default_environment()
    ctx = environment.new_context()
    module = parse_module(ctx, text, "text")
    found = ProvenanceChanges()
    PassManager(ctx, parse_pipeline(pipeline, environment.passes), [found]).run(module)
    return found


def test_what_each_pass_does_to_a_node() -> None:
    found = changes_of(MODULE, "dce,cse,nn-decompose,nn-raise,cse")
    parts = ("nn.matmul", "nn.add")
    assert found.of("fc1") == (
        PassChange("nn-decompose", ("nn.fully_connected",), parts),
        PassChange("nn-raise", parts, ("nn.fully_connected",)),
    )
    assert found.of("fc1/matmul") == (
        PassChange("nn-decompose", (), ("nn.matmul",)),
        PassChange("nn-raise", ("nn.matmul",), ()),
    )
    # The two are one now, which stands for both: of the first the attribute is another one, the second has become it.
    assert found.of("r1") == (PassChange("cse", ("nn.relu",), ("nn.relu",), ("attributes",)),)
    assert found.of("r2")[0].pass_name == "cse"
    assert found.of("gone") == (PassChange("dce", ("nn.abs",), ()),)
    assert found.of("w") == found.of("nobody") == ()


def test_types_and_nests() -> None:
    found = changes_of(MODULE, "func.func(cse)")
    assert [change.pass_name for change in found.of("r1")] == ["cse"]
    text = MODULE.replace("tensor<1x4xf32>", "tensor<?x4xf32>").replace("tensor<1x2xf32>", "tensor<?x2xf32>")
    named = text.replace("%x: tensor<?x4xf32>)", '%x: tensor<?x4xf32> {nn.name = "x"})')
    found = changes_of(named, 'fix-shapes{shapes="x=1x4"}')
    for node, kind in (("fc1", "nn.fully_connected"), ("r1", "nn.relu")):
        assert found.of(node) == (PassChange("fix-shapes", (kind,), (kind,), ("types",)),)


def test_what_is_in_a_region_belongs_to_what_is_around_it() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) attrs = {origin = "r"} {
      ^bb0(%a: f32, %old: f32):
        %unused = "arith.addf"(%a, %a) <{fastmath = #arith.fastmath<none>}> {origin = "r"} : (f32, f32) -> f32
        linalg.yield %a : f32
      } -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }"""
    assert changes_of(text, "dce").of("r") == (PassChange("dce", ("linalg.generic",), ("linalg.generic",), ("body",)),)


def test_the_text() -> None:
    assert PassChange("p", ("nn.a", "nn.b", "nn.a"), ()).text == "2 x nn.a, nn.b -> nothing"
    assert PassChange("p", ("nn.a",), ("nn.a",), ("types", "body")).text == "nn.a: other types, body"
