"""The operations of the `simd` dialect, all families."""

from qmlir.dialects.simd import lanes, memory
from qmlir.dialects.simd.lanes import (
    CompareOp,
    Conversion,
    ConvertOp,
    DotAccumulateOp,
    InterleaveHighOp,
    InterleaveLowOp,
    InterleaveOp,
    MultiplyPairsOp,
    NarrowOp,
    ReduceAddOp,
    RoundToIntOp,
    SelectOp,
    Signs,
)
from qmlir.dialects.simd.memory import (
    GatherOp,
    LoadGroupSplatOp,
    LoadOp,
    LoadPartialOp,
    LookUpOp,
    PrefetchOp,
    StoreOp,
    StorePartialOp,
)

__all__ = [
    "OPERATIONS",
    "CompareOp",
    "Conversion",
    "ConvertOp",
    "DotAccumulateOp",
    "GatherOp",
    "InterleaveHighOp",
    "InterleaveLowOp",
    "InterleaveOp",
    "LoadGroupSplatOp",
    "LoadOp",
    "LoadPartialOp",
    "LookUpOp",
    "MultiplyPairsOp",
    "NarrowOp",
    "PrefetchOp",
    "ReduceAddOp",
    "RoundToIntOp",
    "SelectOp",
    "Signs",
    "StoreOp",
    "StorePartialOp",
]

OPERATIONS = (*memory.OPERATIONS, *lanes.OPERATIONS)
