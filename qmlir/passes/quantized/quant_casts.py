"""Passes that decide types, and insert, move and fuse the casts between floats and quantized values.

- `quant-insert-casts`, `quant-propagate-types` and `quant-fuse-casts`: insert, move and fuse casts.
- `quant-assign-types`: decides types, and makes operations compute on quantized values.
- `quant-dequantize-composites`: computes quantized composites in float if their parts have no types.
- `quant-store-constants`: stores constants as integers.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from qmlir import registry
from qmlir.dialects.nn.base import NnOp
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.dialects.nn.raising.groups import Refusal
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import UniformQuantizedType
from qmlir.dialects.target.attributes import targets_of
from qmlir.ir.builtin_types import element_of, shape_of
from qmlir.ir.decomposition import COMPONENTS, Keep, Parts, mark_composite, marks_on
from qmlir.ir.diagnostics import emit_remark, note, op_error
from qmlir.ir.passes import MEANING, Preservation
from qmlir.ir.provenance import name_results, origins_of, set_origins, tensor_names
from qmlir.ir.signature import MAIN
from qmlir.passes.quantized.nn_raise import raise_excerpt
from qmlir.quantization.casts import (
    FUSION_PATTERNS,
    QuantizeConstant,
    drop_calibration,
    insert_casts,
    plain_tensor,
    rewrite,
    round_states,
)
from qmlir.quantization.decide import decide
from qmlir.quantization.decisions import Decisions
from qmlir.quantization.profiles.keys import functions_of, open_composites
from qmlir.quantization.profiles.statistics import PARTS, hand_on_parts
from qmlir.quantization.propagation import PATTERNS, Refit, ShareRequantize
from qmlir.quantization.recipe import Recipe
from qmlir.quantization.retyping import (
    REPAIR,
    TRAINABLE,
    UNROUNDED,
    mark_kept_in_float,
    mark_parameters,
    recreated,
    trial_parts,
)
from qmlir.quantization.settings import TakesRecipe
from qmlir.quantization.shared_scales import states_of
from qmlir.quantization.stored_ports import stored_ports

Watch = Callable[[Recipe, Sequence[Decisions]], None]
"""A callback that receives a recipe and its decisions for each function of a module, before casts are inserted."""


@dataclass(frozen=True)
class QuantInsertCasts(TakesRecipe):
    """Decides the quantized type of every profiled value, and inserts a `quant.qcast` and a `quant.dcast` after it.

    The operations still compute in float, so the module simulates quantization. Weights become integer constants, which
    the pass quantizes. Options set the defaults for all values; `recipe` names a TOML file with rules for individual
    nodes, operations and slots. `states` pairs each input with the output that is passed to it in the next call, as in
    `past_*=present_*`; both get the same type. `inputs_as` and `outputs_as` set the storage of float inputs and outputs
    that callers pass as integers: `i8` for all of them, `image=u8` for one. An operation without a range or without a
    quantized form stays in float; with `assert_all_quantized`, this is an error. In graph-mode quantization, this pass
    follows `calib-insert-observers` and a calibration run.

    If the module names targets (`quant-set-target`), they decide everything that rules and options leave open. A value
    gets the first type, in the order of its producer's target, that all of its readers accept. An operation is assigned
    to the first target that supports its types. It is an error if a rule requires a type that no target supports; an
    operation that no target computes stays in float.

    Before (run with `activations=u8 scheme=asymmetric_pow2`):

    ```mlir
    func.func @main(%x: tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {
      %0 = nn.sigmoid %x
          : (tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {origin = "s"}
      func.return %0 : tensor<2x!quant.calibrated<f32<0.0:1.0>>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.015625:64>>
      %1 = quant.dcast %0 : tensor<2x!quant.uniform<u8:f32, 0.015625:64>> to tensor<2xf32>
      %2 = nn.sigmoid %1 : tensor<2xf32> {origin = "s"}
      %3 = quant.qcast %2 {origin = "s"} : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.00390625>>
      %4 = quant.dcast %3 {origin = "s"} : tensor<2x!quant.uniform<u8:f32, 0.00390625>> to tensor<2xf32>
      func.return %4 : tensor<2xf32>
    }
    ```
    """

    name = "quant-insert-casts"
    preserves: ClassVar[Preservation] = MEANING

    states: tuple[str, ...] = ()
    inputs_as: tuple[str, ...] = ()
    outputs_as: tuple[str, ...] = ()
    assert_all_quantized: bool = False
    float_constants: bool = False

    VALUES: ClassVar[tuple[str, ...]] = ("watch", *TakesRecipe.VALUES)
    watch: ClassVar[Watch | None] = None
    """A callback that receives the decisions."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.insert(op, self.whole_recipe())

    def insert(self, op: ModuleOp, recipe: Recipe) -> None:
        """Decides the types of each function according to `recipe`, calls `watch`, and inserts the casts.

        Raises `DiagnosticError` if a rule of the recipe has no effect, or if an operation stays in float although
        `assert_all_quantized` is set.
        """
        functions, targets, decided = functions_of(op), targets_of(op), list[Decisions]()
        for function in functions:
            round_states(function, recipe)
        for function in functions:
            is_main = function.sym_name.data == MAIN
            named = states_of(function, self.states) if is_main else []
            ports = stored_ports(function, self.inputs_as, self.outputs_as, named) if is_main else []
            decided.append(decide(function, recipe, targets, named, ports, keeps_integers=self.assert_all_quantized))
        recipe.check_used()
        if self.watch is not None:
            self.watch(recipe, decided)
        left = [(each, reason) for decisions in decided for each, reason in decisions.left_in_float.items()]
        if self.assert_all_quantized and left:
            notes = [note(each, f"not quantized: {reason}") for each, reason in left]
            operations = f"{len(left)} operation{'s that are' if len(left) > 1 else ' that is'}"
            raise op_error(op, f"has {operations} not quantized", notes)
        for function, decisions in zip(functions, decided, strict=True):
            insert_casts(decisions, float_constants=self.float_constants)
            if self.float_constants:
                mark_parameters(function)
            drop_calibration(function)


@dataclass(frozen=True)
class QuantPropagateTypes(ModulePass):
    """Moves casts to where values change, so that the operations in between move stored integers.

    If an operation only moves values (reshape, transpose, split, concatenation of equal types, max pool), a dequantize
    cast of its operand moves after it, and a quantize cast of its result moves before it. Pairs of inverse casts are
    removed, and casts of constants are evaluated. A value that is only clamped (relu, clip) gets the type of the
    clamped result if both types have the same scale. None of these rewrites changes a value. Then operations between
    casts are fused, as in `quant-fuse-casts`. The pass is for models that already contain casts, and for operations
    that rules have left in float.

    A value that is **quantized to one type and then to another** keeps both roundings: each further type becomes an
    explicit rescale (`quant.dcast`, `quant.qcast`), unless the rescale changes no value that the storage type can hold.
    A value that several users quantize **to different types** is computed in float, and each user rounds the float
    value. With `exact=false`, it is computed once, in the requested type that covers the others, and rescaled from
    there, so that it is rounded twice.

    If the targets of the module (`quant-set-target`) support an operation only on **other types**, it gets supported
    types, with a rescale on each value whose type changes. These types store integers in another width or signedness,
    but have the same scale and represent the same real numbers. With `exact=false`, the nearest supported grid for the
    same range is also allowed.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {
      %0 = quant.dcast %x : tensor<2x3x!quant.uniform<i8:f32, 0.5>> to tensor<2x3xf32>
      %1 = nn.transpose %0 {permutation = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32> {origin = "t"}
      %2 = nn.reshape %1 : (tensor<3x2xf32>) -> tensor<6xf32> {origin = "flat"}
      %3 = quant.qcast %2 : tensor<6xf32> to tensor<6x!quant.uniform<i8:f32, 0.5>>
      func.return %3 : tensor<6x!quant.uniform<i8:f32, 0.5>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.transpose %x {permutation = [1, 0]}
          : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5>> {origin = "t"}
      %1 = nn.reshape %0
          : (tensor<3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<6x!quant.uniform<i8:f32, 0.5>> {origin = "flat"}
      func.return %1 : tensor<6x!quant.uniform<i8:f32, 0.5>>
    }
    ```
    """

    name = "quant-propagate-types"
    preserves: ClassVar[Preservation] = MEANING

    exact: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        others = (Refit(self.exact),) if self.exact else (Refit(self.exact), ShareRequantize())
        rewrite(op, (*PATTERNS, *others), ctx)


@dataclass(frozen=True)
class QuantFuseCasts(ModulePass):
    """Makes an operation between dequantize and quantize casts compute on quantized values.

    `qcast(f(dcast(x)))` becomes `f(x)`, and constants are quantized. An operation is left unchanged if it has no
    quantized form, or if its result is also used in float. This is the third pass of graph-mode quantization. The casts
    may come from `quant-insert-casts`, from an ONNX model with QuantizeLinear and DequantizeLinear, or from any other
    source.

    Before:

    ```mlir
    func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {
      %0 = quant.dcast %x : tensor<2x!quant.uniform<i8:f32, 0.5>> to tensor<2xf32>
      %1 = nn.relu %0 : tensor<2xf32> {origin = "relu1"}
      %2 = quant.qcast %1 : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.25>>
      func.return %2 : tensor<2x!quant.uniform<i8:f32, 0.25>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {
      %0 = nn.relu %x
          : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>> {origin = "relu1"}
      func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.25>>
    }
    ```
    """

    name = "quant-fuse-casts"
    preserves: ClassVar[Preservation] = MEANING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, FUSION_PATTERNS, ctx)


# `quant-assign-types`: types are decided, and operations are fused with the casts around them.

_UNRAISED = "not quantized: its sequence length is dynamic, so either all of its parts are quantized or none, and {}"

_EXCERPT = "nn.excerpt"
"""A temporary attribute on the last parts of an excerpt, which holds the number of their composite."""


def _put_parts(op: NnOp, parts: Parts) -> None:
    """Replaces `op` by its `parts`, which this function builds, with its statistics and the names of its results."""
    results = decompose(op, parts)
    assert results is not None
    hand_on_parts(op, parts)
    name_results(results, tensor_names(op))
    mark_composite(op, results, parts.operations)
    Rewriter.replace_op(op, parts.operations, results)


def take_apart(module: ModuleOp, floats: Set[Operation] = frozenset()) -> None:
    """Replaces each composite of dynamic or large length with the parts of a few steps, so that their types can be
    decided. Those in `floats` stay whole, and in float.
    """
    for number, op in enumerate(open_composites(module)):
        if op in floats:
            op.properties.pop(COMPONENTS)
            op.attributes.pop(PARTS, None)
            continue
        parts = Parts(op, may_be_excerpt=True)
        _put_parts(op, parts)
        for part in filter(marks_on, parts.operations):
            part.attributes[_EXCERPT] = IntegerAttr(number, i64)


def _put_together(module: ModuleOp) -> dict[int, str]:
    """Raises each excerpt to its composite with the types of its parts; returns the reason for each that cannot be
    raised."""
    refused: dict[int, str] = {}
    for root in list(module.walk()):
        number = root.attributes.get(_EXCERPT)
        if root.parent is None or not isinstance(number, IntegerAttr) or number.value.data in refused:
            continue
        found = raise_excerpt(root)
        if isinstance(found, Refusal):
            refused[number.value.data] = found.reason
    return refused


def _without(module: ModuleOp, before: Region, refused: Mapping[int, str]) -> None:
    """Restores `module` to its state `before`, without raising the composites whose numbers are in `refused`.

    A composite of known length is replaced by all of its parts; one of dynamic length stays in float.
    """
    module.detach_region(module.body)
    module.add_region(before)
    composites = open_composites(module)
    for number, reason in refused.items():
        op = composites[number]
        if DYNAMIC_INDEX not in shape_of(op.operands[0])[:1]:
            _put_parts(op, Parts(op))
            continue
        op.properties.pop(COMPONENTS)
        op.attributes.pop(PARTS, None)
        mark_kept_in_float(op)
        emit_remark(op, _UNRAISED.format(reason))


@dataclass(frozen=True)
class QuantAssignTypes(QuantInsertCasts):
    """Decides the quantized type of every profiled value, and gives the value this type.

    The pass combines `quant-insert-casts` and `quant-fuse-casts`: operations stay the same, and only types change.
    Casts remain at the module boundary and around operations left in float. The options are those of
    `quant-insert-casts`.

    A recurrent layer that `nn-decompose` kept whole because its length is dynamic or large stays whole, and gets one
    type for each of its parts, shared by all time steps. If the steps cannot share their types, a layer of known length
    is unrolled into the parts of all steps, and a layer of dynamic length stays in float.

    Before (run with `activations=u8 scheme=asymmetric_pow2`):

    ```mlir
    func.func @main(%x: tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {
      %0 = nn.sigmoid %x
          : (tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2x!quant.calibrated<f32<0.0:1.0>>> {origin = "s"}
      func.return %0 : tensor<2x!quant.calibrated<f32<0.0:1.0>>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<u8:f32, 0.015625:64>>
      %1 = nn.sigmoid %0 : (tensor<2x!quant.uniform<u8:f32, 0.015625:64>>)
          -> tensor<2x!quant.uniform<u8:f32, 0.00390625>> {origin = "s"}
      %2 = quant.dcast %1 {origin = "s"} : tensor<2x!quant.uniform<u8:f32, 0.00390625>> to tensor<2xf32>
      func.return %2 : tensor<2xf32>
    }
    ```
    """

    name = "quant-assign-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        recipe = self.whole_recipe()
        while True:
            before = op.body.clone() if open_composites(op) else None
            for function in functions_of(op):
                recipe.find_floats(function)
            take_apart(op, recipe.floats)
            self.insert(op, recipe)
            rewrite(op, FUSION_PATTERNS, ctx)
            refused = _put_together(op)
            if not refused or before is None:
                return
            _without(op, before, refused)


# `quant-dequantize-composites`: quantized composites whose parts have no types compute in float.


def _is_quantized(value: SSAValue) -> bool:
    return isinstance(element_of(value), UniformQuantizedType)


def _has_parts(op: Operation) -> bool:
    with trial_parts(op) as parts:
        return parts is not None


@dataclass(frozen=True)
class OpenComposite(RewritePattern):
    """`f(x) -> qcast(f(dcast(x)))` for a quantized composite that does not store types for its parts."""

    keep: Keep

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, NnOp) or type(op) not in registry.decompositions() or op in self.keep:
            return
        if op.components is not None or not any(map(_is_quantized, (*op.operands, *op.results))) or _has_parts(op):
            return
        casts = [
            DequantizeCastOp(value, plain_tensor(value)) if _is_quantized(value) else None for value in op.operands
        ]
        operands = [value if cast is None else cast.result for value, cast in zip(op.operands, casts, strict=True)]
        types = [plain_tensor(result) if _is_quantized(result) else result.type for result in op.results]
        real = recreated(op, operands, types)
        real.properties.pop("requantize", None)
        if not _has_parts(real):
            real.drop_all_references()
            for cast in filter(None, casts):
                cast.drop_all_references()
            return
        pairs = list(zip(real.results, op.results, strict=True))
        behind = [QuantizeCastOp(new, old.type) if _is_quantized(old) else None for new, old in pairs]
        made = [each for each in (*casts, real, *behind) if each is not None]
        for each in made:
            set_origins(each, origins_of(op))
        rewriter.insert(made)
        results = [new if cast is None else cast.result for new, cast in zip(real.results, behind, strict=True)]
        rewriter.replace(op, [], results)


@dataclass(frozen=True)
class QuantDequantizeComposites(ModulePass):
    """Makes a quantized composite whose parts have no types compute in float between casts.

    The casts keep the quantization parameters of the composite's operands and results. The parts that `nn-decompose`
    creates later have no parameters, so only they are profiled (`calib-insert-observers`) and get types from
    `quant-assign-types`. Composites with `components` already have types for their parts and are left unchanged. So are
    composites that `keep` names; it has the same meaning as in `nn-decompose`. If the composite was computed in
    integers, its result may change by one quantization step.

    Before:

    ```mlir
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>> {
      %0 = nn.gelu %x : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
          {origin = "act"}
      func.return %0 : tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:-128>> {
      %0 = quant.dcast %x {origin = "act"} : tensor<4x!quant.uniform<i8:f32, 0.5>> to tensor<4xf32>
      %1 = nn.gelu %0 : tensor<4xf32> {origin = "act"}
      %2 = quant.qcast %1 {origin = "act"} : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
      func.return %2 : tensor<4x!quant.uniform<i8:f32, 0.25:-128>>
    }
    ```
    """

    name = "quant-dequantize-composites"
    preserves: ClassVar[Preservation] = MEANING

    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [OpenComposite(Keep(self.keep))], ctx)


# `quant-store-constants`: floats that stayed for training become integers.


@dataclass(frozen=True)
class QuantStoreConstants(ModulePass):
    """Quantizes the constants that `quant-assign-types{float_constants}` kept in float for training or accuracy
    recovery.

    Before:

    ```mlir
    func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.constant dense<[1.0, -2.0]> : tensor<2xf32> {nn.trainable, origin = "w"}
      %1 = quant.qcast %0 {origin = "w"} : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
      func.return %1 : tensor<2x!quant.uniform<i8:f32, 0.5>>
    }
    ```

    After:

    ```mlir
    func.func @main() -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
      %0 = nn.constant dense<[2, -4]> : tensor<2xi8> -> tensor<2x!quant.uniform<i8:f32, 0.5>> {origin = "w"}
      func.return %0 : tensor<2x!quant.uniform<i8:f32, 0.5>>
    }
    ```
    """

    name = "quant-store-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for constant in op.walk():
            if isinstance(constant, ConstantOp):
                for mark in (TRAINABLE, REPAIR, UNROUNDED):
                    constant.attributes.pop(mark, None)
        rewrite(op, (QuantizeConstant(),), ctx)
