"""Targets for tests, as a package offers them: one whose scales are powers of two, and ones that say nonsense."""

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.registry import Contribution
from qmlir.target import Accepted, Support, Target

_POW2 = ("symmetric_pow2",)
_BYTES = Accepted(("i8",), _POW2)
_WEIGHTS = Accepted(("i4",), _POW2, ("channel",))
_BIAS = Accepted(("i16",), _POW2)
_SUMS = Accepted(("i32", "i16"), _POW2)


def emit(module: ModuleOp) -> str:
    """The names of the operations, a line for each function."""
    functions = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    return "".join(f"{each.sym_name.data}: {' '.join(op.name for op in each.body.block.ops)}\n" for each in functions)


def emit_bytes(module: ModuleOp) -> bytes:
    """The same as bytes."""
    return emit(module).encode()


def emit_nothing(module: ModuleOp) -> None:
    """What is not emission."""


TOY = Target(
    "toy",
    summary="a device for tests: powers of two, weights of 4 bits, shifts only",
    supports=(
        Support("nn.matmul", input=_BYTES, weight=_WEIGHTS, accumulator=Accepted(("i32",), _POW2)),
        Support("nn.conv", input=_BYTES, weight=_WEIGHTS, accumulator=_SUMS, properties={"groups": (1,)}),
        Support("nn.add", role="bias_add", bias=_BIAS, input=_BYTES, accumulator=_SUMS, output=_BYTES),
        Support("nn.relu", input=_BYTES, output=_BYTES),
        Support("nn.max_pool", input=_BYTES),
    ),
    requantize=("shift:even",),
    lowering="canonicalize,dce",
    emit="tests.support.targets:emit",
    suffix=".toy",
)

STAGED = replace(
    TOY,
    name="staged",
    stages={"quantize.lower.before": "nn-decompose", "quantize.rescale.after": "strip-debuginfo{provenance=true}"},
)
PRODUCTS = Target(
    "products",
    summary="products without a bias",
    supports=tuple(Support(op, weight=Accepted(granularities=("channel",))) for op in ("nn.matmul", "nn.conv")),
)
MISPLACED = Target("misplaced", stages={"quantize.decided.before": "cse"})
BYTES = Target("bytes", lowering="dce", emit="tests.support.targets:emit_bytes")
SILENT = Target("silent")
NOTHING = Target("nothing", lowering="cse{<level>}", emit="tests.support.targets:emit_nothing")
MISNAMED = Target("named_otherwise")
WRONG = Target("wrong", supports=(Support("nn.add", input=Accepted(("i99",))),))
BROKEN = Target("broken", emit="tests.support.targets:no_such", execute="tests.support.targets:TOY")

CONTRIBUTION = Contribution(
    targets={
        "toy": "tests.support.targets:TOY",
        "staged": "tests.support.targets:STAGED",
        "products": "tests.support.targets:PRODUCTS",
        "misplaced": "tests.support.targets:MISPLACED",
        "bytes": "tests.support.targets:BYTES",
        "silent": "tests.support.targets:SILENT",
        "nothing": "tests.support.targets:NOTHING",
        "misnamed": "tests.support.targets:MISNAMED",
        "wrong": "tests.support.targets:WRONG",
        "broken": "tests.support.targets:BROKEN",
        "absent": "tests.support.targets:ABSENT",
        "odd": "tests.support.targets:emit",
    }
)
