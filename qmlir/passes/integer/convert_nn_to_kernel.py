"""`convert-nn-to-kernel`: lowers `nn` and `quant` to plain integers and floats, with explicit zero points and
multipliers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    UnitAttr,
    i1,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from qmlir import registry
from qmlir.dialects.check.ops import ExpectCloseOp, ExpectEqOp
from qmlir.dialects.kernel.custom import CustomOp, custom_kernel_for, custom_kernels
from qmlir.dialects.kernel.lowering.lowering import Lowering, integer_types, is_unsigned, no_lowering, small_float_of
from qmlir.dialects.nn.requantize import decompose
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import QuantizeCastOp
from qmlir.dialects.quant.types import CalibratedQuantizedType, QuantizedType, StoredType, holds_nan
from qmlir.interpreter.values import value_dtype
from qmlir.ir.builtin_types import as_integer, ranked_tensor
from qmlir.ir.control_flow import CONTROL
from qmlir.ir.conversion import ConvertForwarding, Legality, TypeConversion, convert
from qmlir.ir.decomposition import Parts, results_given
from qmlir.ir.evaluation import evaluator_of
from qmlir.ir.interfaces import HeldElement
from qmlir.ir.limits import budget, over
from qmlir.ir.passes import ROUNDED, Preservation
from qmlir.ir.signature import ELEMENT, REFUSES_NAN


def _parts_of(op: Operation, rewriter: PatternRewriter) -> Sequence[SSAValue] | None:
    """Returns the results of a composite's parts, inserted before it; `None` if it has none."""
    parts = Parts(op)
    results = decompose(op, parts)
    if results is not None:
        rewriter.insert(parts.operations)
    return results


def _by_hand(op: Operation, at: Lowering) -> Sequence[SSAValue] | None:
    """Returns the results of a call of the custom kernel for the operation; `None` if there is none."""
    kernel = custom_kernel_for(op)
    if kernel is None:
        return None
    if evaluator_of(op) is None:
        raise at.error(
            f"cannot use kernel '{kernel.function}': it would be checked against the interpreter, which cannot "
            "evaluate this operation"
        )
    call = CustomOp.of(op, kernel, [at.value(operand) for operand in op.operands])
    at.insert(call)
    return call.results


def _check_size(at: Lowering, result: SSAValue) -> None:
    """Raises `DiagnosticError` for a result that exceeds any arena: a short text can declare it, before tables are
    built."""
    type_ = ranked_tensor(result.type)
    dtype = None if type_ is None else value_dtype(type_.get_element_type())
    if type_ is None or dtype is None or not type_.has_static_shape():
        return
    size = math.prod(type_.get_shape()) * dtype.itemsize
    if size > budget("arena-bytes"):
        raise at.error(f"result '{result.type}' is too large: its size in bytes is {over('arena-bytes', size)}")


@dataclass(frozen=True)
class Lower(RewritePattern):
    """Lowers an operation to the integer level with the function that its dialect or another package registered.

    A custom kernel for the operation has priority. A composite without a lowering is replaced with its parts, which are
    lowered one by one.
    """

    types: TypeConversion

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        lowering = registry.lowerings().get(type(op), no_lowering)
        at = Lowering(op, rewriter, self.types)
        for result in op.results:
            _check_size(at, result)
        values = at.without_elements() or _by_hand(op, at)
        if values is None and (given := lowering(op, at)) is not None:
            values = results_given(op, lowering, given, self._is_accepted)
        if values is None and (values := _parts_of(op, rewriter)) is None:
            return
        casts = [self.types.restored(rewriter, value, old.type) for value, old in zip(values, op.results, strict=True)]
        rewriter.replace(op, [], casts)

    def _is_accepted(self, found: Attribute, wanted: Attribute) -> bool:
        """Returns True if the type of a result is that of the operation, at its own level or at the integer level."""
        return found in (wanted, self.types.converted(wanted))


def _attributes_of(type_: Attribute, is_quantized: bool) -> DictionaryAttr:
    """Returns the attributes that a caller needs for an argument or result.

    They state that its integers are unsigned, that one bit is not a Boolean, that integers are the bits of
    low-precision floats, and that NaN is rejected.
    """
    element = element_type(type_)
    element = element.held_as if isinstance(element, HeldElement) else element
    if isinstance(element, AnyFloat | CalibratedQuantizedType) and is_quantized:
        return DictionaryAttr({REFUSES_NAN: UnitAttr()})
    small = small_float_of(element)
    if small is not None:
        return DictionaryAttr({ELEMENT: small})
    integer = IntegerType(element.bits) if isinstance(element, StoredType) else as_integer(element)
    if integer is None or element == i1 or not (integer.bitwidth == 1 or is_unsigned(element)):
        return DictionaryAttr({})
    signedness = Signedness.UNSIGNED if is_unsigned(element) else Signedness.SIGNED
    return DictionaryAttr({ELEMENT: IntegerType(integer.bitwidth, signedness)})


def _takes_nan(op: QuantizeCastOp) -> bool:
    element = element_type(op.result.type)
    return isinstance(element, QuantizedType) and holds_nan(element)


def _state_elements(function: FuncOp) -> None:
    """Adds the attributes to the arguments and results of `function` that their new types do not express."""
    type_: FunctionType = function.function_type
    is_quantized = any(isinstance(op, QuantizeCastOp) and not _takes_nan(op) for op in function.walk())
    for name, types in (("arg_attrs", type_.inputs), ("res_attrs", type_.outputs)):
        added = [_attributes_of(each, is_quantized and name == "arg_attrs") for each in types]
        if not any(each.data for each in added):
            continue
        old = function.arg_attrs if name == "arg_attrs" else function.res_attrs
        before = [DictionaryAttr({})] * len(added) if old is None else old
        joined = [DictionaryAttr({**a.data, **b.data}) for a, b in zip(before, added, strict=True)]
        function.properties[name] = ArrayAttr(joined)


@dataclass(frozen=True)
class ConvertNnToKernel(ModulePass):
    """Lowers every `nn` and `quant` operation to the integer level: `kernel`, `linalg`, `tensor` and `arith`.

    No quantized types remain: values are stored as signless integers, and zero points, multipliers and limits become
    constants in the bodies of operations. Results are bit-identical, except for float contractions and float functions,
    whose errors are within the bounds in `docs/arithmetic.md`. Shapes must be static (`fix-shapes`).

    Before:

    ```mlir
    func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32> {
      %0 = quant.dcast %x : tensor<4x!quant.uniform<i8:f32, 0.5:3>> to tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<4xi8>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
      } ins(%x : tensor<4xi8>) outs(%0 : tensor<4xf32>) {
      ^bb0(%q: i8, %old: f32):
        %2 = arith.extsi %q : i8 to i32
        %3 = arith.constant 3 : i32
        %4 = arith.subi %2, %3 : i32
        %5 = arith.constant 5.000000e-01 : f32
        %6 = arith.sitofp %4 : i32 to f32
        %7 = arith.mulf %5, %6 : f32
        linalg.yield %7 : f32
      } -> tensor<4xf32>
      func.return %1 : tensor<4xf32>
    }
    ```
    """

    name = "convert-nn-to-kernel"

    preserves: ClassVar[Preservation] = ROUNDED

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp):
                _state_elements(function)
        types = integer_types()
        forwarded = (FuncOp, CallOp, ReturnOp, ExpectEqOp, ExpectCloseOp, *CONTROL, ExtractOp)
        legality = Legality(
            illegal_dialects=frozenset({"nn", "quant", "calib"}),
            illegal_operations=(*registry.lowerings(), *registry.decompositions(), *custom_kernels()),
            accepted="operations that a dialect or a package has a lowering or a kernel for",
            types=types,
        )
        convert(op, [Lower(types), ConvertForwarding(types, forwarded)], legality, ctx)
