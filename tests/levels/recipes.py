"""Layers whose parts have types by a recipe: float models of one contraction and its bias, quantized with random rules.

The front door makes them: the model, in which `keep` may name the layer, is decomposed, profiled, decided and raised,
and the layer must be whole again. So what the levels compute is held against what a recipe asks for, not only against
types that were drawn as such.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qmlir.dialects.nn.contraction.ops import BiasedContractionOp, ConvOp, ConvTransposeOp, FullyConnectedOp, MatMulOp
from qmlir.dialects.nn.elementwise.ops import AddOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.ir.builtin_types import element_of
from qmlir.ir.signature import inputs_of
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.settings import QuantizeSettings
from qmlir.workflows.quantizing import quantize
from tests.levels.generator import Case
from tests.unit.quantization.random_graphs import Graph

_SAMPLES = 4
_SLOTS = {
    "input": ("i8", "u8", "i8<-127:127>", "i5", "i4", "u4"),
    "weight": ("i8<-127:127>", "i4", "i3", "u6", "i8", "u4", "ternary", "binary"),
    "accumulator": ("i32", "i24", "i16", "i12", "i8", "u8"),
    "bias": ("i32", "i24", "i16", "i12", "i8", "u8"),
    "output": ("i8", "u8", "i16", "i4"),
}
"""What a rule may ask for, slot by slot."""

_TYPES = {"ternary": "i2", "binary": "i2"}
"""The types of storages that have other names."""


def _windows(random: np.random.Generator) -> dict[str, Any]:
    pads = [int(random.integers(0, 2)) for _ in range(4)]
    return {"strides": [int(random.integers(1, 3)) for _ in range(2)], "pads": pads}


def _product_and_sum(graph: Graph, x: SSAValue, w: SSAValue, bias: SSAValue) -> SSAValue:
    """A layer as two operations, in nodes that the rules' roles of a layer are not those of."""
    product = graph.add(MatMulOp, x, w)
    return graph.add(AddOp, *([product, bias] if graph.random.random() < 0.5 else [bias, product]))


def _model(graph: Graph) -> ModuleOp:
    """One layer with a bias, sometimes with a ReLU after it."""
    random = graph.random
    kind = (FullyConnectedOp, ConvOp, ConvTransposeOp)[int(random.integers(3))]
    channels, out = (int(random.integers(1, 6)) for _ in range(2))
    bias = graph.constant(graph.array(out, scale=float(random.exponential(1))))
    if kind is FullyConnectedOp:
        x = graph.input(graph.array(_SAMPLES, *([3] if random.random() < 0.5 else []), channels))
        if random.random() < 0.4:  # as transformers are exported
            return graph.module(_product_and_sum(graph, x, graph.constant(graph.array(channels, out)), bias))
        return graph.module(graph.add(kind, x, graph.constant(graph.array(out, channels)), bias))
    kernel = [int(random.integers(2, 4)) for _ in range(2)]
    x = graph.input(graph.array(_SAMPLES, channels, 5, 4))
    ends = (channels, out) if kind is ConvTransposeOp else (out, channels)
    return graph.module(graph.add(kind, x, graph.constant(graph.array(*ends, *kernel)), bias, **_windows(random)))


def _rules(random: np.random.Generator) -> Iterator[str]:
    """A rule for each slot; a power of two for all of them now and then, so that they are rescaled by shifts."""
    has_powers = random.random() < 0.2
    chosen = {slot: str(random.choice(storages)) for slot, storages in _SLOTS.items()}
    for slot, storage in chosen.items():
        yield f'[[rule]]\nslot = "{slot}"\nstorage = "{storage}"'
        is_asymmetric = slot in ("input", "output") or storage.startswith("u") or random.random() < 0.2
        yield f'scheme = "{"a" * is_asymmetric}symmetric{"_pow2" * has_powers}"'
        if slot == "weight":
            yield f'granularity = "{random.choice(["tensor", "channel"])}"'
        if slot == "bias" and storage in ("i32", "i24") and random.random() < 0.5:
            yield 'bias_scale = "sum"'


def case_by_recipe(seed: int) -> Case:
    """The quantized layer of a seed, whole, each of its parts in the storage that its rule asks for."""
    graph = Graph(seed)
    model = _model(graph)
    recipe = RecipeText(f"recipe {seed}", "\n".join(_rules(graph.random)))
    (function,) = (op for op in model.ops if isinstance(op, FuncOp))
    inputs = {port.name: array for port, array in zip(inputs_of(function), graph.inputs, strict=True)}
    kept: QuantizeSettings = {"keep_composites": ("*",)} if graph.random.random() < 0.3 else {}
    module = quantize(model, inputs, recipe=recipe, validate=False, **kept).module
    _check(module, recipe)
    return Case(seed, module, inputs)


def _check(module: ModuleOp, recipe: RecipeText) -> None:
    """Raise `AssertionError` where the layer is not whole, or a part is stored otherwise than its rule says."""
    (layer,) = (op for op in module.walk() if isinstance(op, BiasedContractionOp))
    assert layer.bias is not None, recipe.text
    product = next(iter(layer.components.data.values()), None) if layer.components is not None else None
    values = {"input": layer.data, "weight": layer.weight, "bias": layer.bias, "output": layer.results[0]}
    types = {slot: element_of(value) for slot, value in values.items()}
    for slot, element in (types | ({} if product is None else {"accumulator": product})).items():
        assert isinstance(element, UniformQuantizedType), recipe.text
        wanted = recipe.text.split(f'slot = "{slot}"\nstorage = "')[1].split('"')[0].partition("<")[0]
        found = f"{'i' if element.is_signed else 'u'}{element.bits}"
        assert found == _TYPES.get(wanted, wanted), (slot, recipe.text)
    assert product is not None or 'slot = "accumulator"\nstorage = "i32"' in recipe.text, recipe.text
