"""Targets: the devices that programs run on, and the compilation of modules to programs.

Code for programs with several targets is imported only when such a program is compiled or loaded.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.targets.heterogeneous import StaticProgram as StaticProgram
    from qmlir.targets.heterogeneous import compile_parts as compile_parts
    from qmlir.targets.heterogeneous import load_parts as load_parts
    from qmlir.targets.partitioning.quant_partition import partitioned as partitioned
    from qmlir.targets.partitioning.quant_partition import with_islands_apart as with_islands_apart
else:
    __getattr__, __dir__ = attached(__name__)
