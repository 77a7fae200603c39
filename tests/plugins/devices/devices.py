"""Two devices for tests of partition: `npu` has convolutions and what goes with them, `dsp` sums and limits.

Both are lowered to the integer level and, as nobody has them, run there by the interpreter. What `npu` emits is a list.
"""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.registry import Contribution
from qmlir.target import Accepted, Support, Target

_BYTES = Accepted(("i8",))

NPU = Target(
    "npu",
    summary="convolutions and products on bytes",
    supports=(
        Support("nn.conv", input=_BYTES),
        Support("nn.fully_connected", input=_BYTES),
        Support("nn.relu"),
        Support("nn.reshape"),
        Support("nn.max_pool"),
    ),
    lowering="convert-nn-to-kernel,canonicalize,cse,dce",
    emit="devices:listing",
    suffix=".npu.txt",
)

DSP = Target(
    "dsp",
    summary="sums and limits",
    supports=(Support("nn.add"), Support("nn.clip"), Support("nn.relu"), Support("nn.global_average_pool")),
    lowering="convert-nn-to-kernel,canonicalize,cse,dce",
)

CONTRIBUTION = Contribution(targets={"npu": "devices:NPU", "dsp": "devices:DSP"}, built_for="0.2")


def listing(module: ModuleOp) -> str:
    """The operations of each function, a line each."""
    functions = (op for op in module.ops if isinstance(op, FuncOp))
    return "".join(
        f"{function.sym_name.data}: {' '.join(op.name for op in function.body.block.ops)}\n" for function in functions
    )
