"""A plug-in whose operations go wrong, each in one way, where a pass asks the package."""

from typing import Any

from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.universe import Universe

from qmlir.dialects.kernel.custom import CustomKernel
from qmlir.dialects.kernel.lowering.lowering import Lowering
from qmlir.dialects.nn.elementwise.ops import UnaryOp
from qmlir.registry import INTERFACE, Contribution


@irdl_op_definition
class RaisesOp(UnaryOp):
    name = "spoilt.raises"


@irdl_op_definition
class OneValueOp(UnaryOp):
    name = "spoilt.one_value"


@irdl_op_definition
class NothingOp(UnaryOp):
    name = "spoilt.nothing"


@irdl_op_definition
class OtherTypeOp(UnaryOp):
    name = "spoilt.other_type"


@irdl_op_definition
class NoValueOp(UnaryOp):
    name = "spoilt.no_value"


@irdl_op_definition
class FitsOp(UnaryOp):
    name = "spoilt.fits"


@irdl_op_definition
class VerifierOp(UnaryOp):
    name = "spoilt.verifier"

    def verify_(self) -> None:
        raise KeyError("verifier")


def raises(*arguments: Any) -> Any:
    raise KeyError("lost")


def one_value(op: OneValueOp, at: Any) -> SSAValue:
    return op.input


def nothing(op: Operation, at: Any) -> tuple[()]:
    return ()


def other_type(op: Operation, at: Lowering) -> tuple[SSAValue]:
    return (at.scalar(1.0, at.result_element()),)


def no_value(*arguments: Any) -> tuple[None]:
    return (None,)


def writes_nothing(*arguments: Any) -> None:
    return None


def a_number(*arguments: Any) -> list[int]:
    return [3]


NOT_IMPORTED = {"my::Raises": raises, "my::Nothing": writes_nothing, "my::Number": a_number}
NOT_EXPORTED = {RaisesOp: raises, NothingOp: writes_nothing}
DECOMPOSITIONS = {RaisesOp: raises, OneValueOp: one_value, NothingOp: nothing, NoValueOp: no_value}
LOWERINGS = {**DECOMPOSITIONS, OtherTypeOp: other_type}
KERNEL = CustomKernel(FitsOp, "tests.support.spoilt:raises", raises)

_OPERATIONS: list[type[Operation]] = [RaisesOp, OneValueOp, NothingOp, OtherTypeOp, NoValueOp, FitsOp, VerifierOp]
UNIVERSE = Universe(all_dialects={"spoilt": lambda: Dialect("spoilt", _OPERATIONS)})
CONTRIBUTION = Contribution(
    lowerings={"spoilt": "tests.support.spoilt:LOWERINGS"},
    decompositions={"spoilt": "tests.support.spoilt:DECOMPOSITIONS"},
    kernels={"spoilt.fits": "tests.support.spoilt:KERNEL"},
    importers=("tests.support.spoilt:NOT_IMPORTED",),
    exporters=("tests.support.spoilt:NOT_EXPORTED",),
    built_for=INTERFACE,
)
