"""A plug-in with kernels that a person wrote: right ones, and one for each thing that can be wrong with one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.ir import Dialect, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.universe import Universe

from qmlir.dialects.kernel.custom import CustomKernel
from qmlir.ir.evaluation import RegionEvaluator, TakesStored
from qmlir.ir.interfaces import InferResultTypes
from qmlir.registry import Contribution


@irdl_op_definition
class ThresholdOp(IRDLOperation, InferResultTypes):
    """`sign(x) * max(|x| - bound, 0)`."""

    name = "soft.threshold"

    input = operand_def(TensorType)
    bound = prop_def(FloatAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$input `by` $bound attr-dict `:` type($input) `->` type($result)"

    def infer_result_types(self) -> Sequence[TypeAttribute]:
        return [self.input.type]


@irdl_op_definition
class SplitOp(IRDLOperation):
    """The stored integers of `x + y` (of `x` without `y`) without their lowest bit, and that bit."""

    name = "soft.split"

    x = operand_def(TensorType)
    y = opt_operand_def(TensorType)
    parts = var_result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x (`,` $y^)? attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class MapOp(IRDLOperation):
    """The region on each element."""

    name = "soft.map"

    x = operand_def(TensorType)
    body = region_def()
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x $body attr-dict `:` type($x) `->` type($result)"


@irdl_op_definition
class GiveOp(IRDLOperation):
    """The end of a region of `soft.map`."""

    name = "soft.give"

    value = operand_def()

    traits = traits_def(IsTerminator())
    assembly_format = "$value attr-dict `:` type($value)"


class _Wrong(IRDLOperation):
    """`2 * x`, by a kernel in which something is wrong."""

    x = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"


@irdl_op_definition
class OffByOneOp(_Wrong):
    name = "wrong.off_by_one"


@irdl_op_definition
class UnwrittenOp(_Wrong):
    name = "wrong.unwritten"


@irdl_op_definition
class WritesOperandsOp(_Wrong):
    name = "wrong.writes_operands"


@irdl_op_definition
class RaisingOp(_Wrong):
    name = "wrong.raising"


@irdl_op_definition
class PlainOp(_Wrong):
    name = "wrong.plain"


@irdl_op_definition
class LostOp(_Wrong):
    name = "wrong.lost"


@irdl_op_definition
class MeaninglessOp(_Wrong):
    name = "wrong.meaningless"


@irdl_op_definition
class RoughOp(_Wrong):
    name = "wrong.rough"


@irdl_op_definition
class UnaskedOp(_Wrong):
    name = "wrong.unasked"


@irdl_op_definition
class UnmadeOp(_Wrong):
    name = "wrong.unmade"


WRONG = (
    OffByOneOp,
    UnwrittenOp,
    WritesOperandsOp,
    RaisingOp,
    PlainOp,
    LostOp,
    MeaninglessOp,
    RoughOp,
    UnaskedOp,
    UnmadeOp,
)


def _threshold(op: ThresholdOp, x: np.ndarray) -> tuple[np.ndarray]:
    bound = np.float32(op.bound.value.data)
    return (np.sign(x) * np.maximum(np.abs(x) - bound, np.float32(0)),)


@TakesStored
def _split(op: SplitOp, x: np.ndarray, y: np.ndarray | None) -> tuple[np.ndarray, ...]:
    total = x if y is None else x + y.astype(x.dtype)
    return total - (total & 1), total & 1


def _twice(op: Any, x: np.ndarray) -> tuple[np.ndarray]:
    return (x + x,)


def _map(frame: Any, op: MapOp, x: np.ndarray) -> tuple[np.ndarray]:
    given = [frame.run(op.body, each)[0] for each in x.reshape(-1)]
    return (np.array(given, x.dtype).reshape(x.shape),)


SOFT_EVALUATORS = {ThresholdOp: _threshold, SplitOp: _split, MapOp: RegionEvaluator(_map)}
WRONG_EVALUATORS = {kind: _twice for kind in WRONG if kind is not MeaninglessOp}


@njit
def threshold(x: Any, y: Any) -> None:
    bound = np.float32(0.5)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            value = x[i, j]
            sign = np.float32(value > 0) - np.float32(value < 0)  # numba's own gives -0.0 for -0.0, NumPy's 0.0
            y[i, j] = sign * max(abs(value) - bound, np.float32(0))


@njit
def split(x: Any, y: Any, high: Any, low: Any) -> None:
    for i in range(x.size):
        total = x[i] + y[i]
        low[i] = total & 1
        high[i] = total - (total & 1)


@njit
def squares(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = x[i] * x[i] + np.float32(0.25)


def _squares(op: MapOp) -> bool:
    """Whether the body has the operations of a square and a sum; the constant is left to the comparison."""
    names = [each.name for each in op.body.block.ops]
    return len(op.x.type.get_shape()) == 1 and names == ["arith.mulf", "arith.constant", "arith.addf", "soft.give"]


@njit
def off_by_one(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = x[i] + x[i]
    y[2] += 1


@njit
def unwritten(x: Any, y: Any) -> None:
    y[:-1] = x[:-1] + x[:-1]


@njit
def writes_operands(x: Any, y: Any) -> None:
    x[0] = 1
    y[:] = x + x


@njit
def raising(x: Any, y: Any) -> None:
    if x.size > 2:
        raise ValueError("more than two")
    y[:] = x + x


def plain(x: Any, y: Any) -> None:
    y[:] = x + x


@njit
def rough(x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = np.float32(2.000001) * x[i]


_HERE = "tests.support.custom_kernels"


def _fits(op: ThresholdOp) -> bool:
    return op.bound.value.data == 0.5 and len(op.input.type.get_shape()) == 2


THRESHOLD = CustomKernel(ThresholdOp, f"{_HERE}:threshold", fits=_fits, may_overwrite=(0,))
SPLIT = CustomKernel(SplitOp, f"{_HERE}:split", fits=lambda op: op.y is not None)
MAP = CustomKernel(MapOp, f"{_HERE}:squares", fits=_squares, may_overwrite=(0,))
OFF_BY_ONE = CustomKernel(OffByOneOp, f"{_HERE}:off_by_one")
UNWRITTEN = CustomKernel(UnwrittenOp, f"{_HERE}:unwritten")
WRITES_OPERANDS = CustomKernel(WritesOperandsOp, f"{_HERE}:writes_operands")
RAISING = CustomKernel(RaisingOp, f"{_HERE}:raising")
PLAIN = CustomKernel(PlainOp, f"{_HERE}:plain")
LOST = CustomKernel(LostOp, f"{_HERE}:nowhere")
MEANINGLESS = CustomKernel(MeaninglessOp, f"{_HERE}:off_by_one")
UNASKED = CustomKernel(UnaskedOp, f"{_HERE}:off_by_one", fits=lambda op: op.bound.value.data > 1)
UNMADE = CustomKernel(UnmadeOp, f"{_HERE}:off_by_one", inputs=lambda op, random: [random.integers(3, 2)])
ROUGH = CustomKernel(RoughOp, f"{_HERE}:rough", relative=1e-5, any_strides=True)

Soft = Dialect("soft", [ThresholdOp, SplitOp, MapOp, GiveOp])
Wrong = Dialect("wrong", list(WRONG))
UNIVERSE = Universe(all_dialects={"soft": lambda: Soft, "wrong": lambda: Wrong})
CONTRIBUTION = Contribution(
    evaluators={"soft": f"{_HERE}:SOFT_EVALUATORS", "wrong": f"{_HERE}:WRONG_EVALUATORS"},
    kernels={
        "soft.threshold": f"{_HERE}:THRESHOLD",
        "soft.split": f"{_HERE}:SPLIT",
        "soft.map": f"{_HERE}:MAP",
        **{kind.name: f"{_HERE}:{kind.name.partition('.')[2].upper()}" for kind in WRONG},
    },
)
