"""Targets: where programs run, and how modules of loops become programs.

What knows of several targets is loaded where a program has several.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.targets.heterogeneous import compile_parts as compile_parts
    from qmlir.targets.heterogeneous import load_parts as load_parts
    from qmlir.targets.partitioning.quant_partition import partitioned as partitioned
    from qmlir.targets.partitioning.quant_partition import with_islands_apart as with_islands_apart
else:
    __getattr__, __dir__ = attached(__name__)
