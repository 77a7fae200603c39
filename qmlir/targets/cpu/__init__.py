"""The CPU target: emits loops as Python source or LLVM IR, and compiles, caches and runs the code."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.targets.cpu.batch_tiling import OpenBatch as OpenBatch
    from qmlir.targets.cpu.emitters.llvm.target import check_named_processor as check_named_processor
    from qmlir.targets.cpu.length_buckets import all_capacities as all_capacities
    from qmlir.targets.cpu.length_buckets import checked_lengths as checked_lengths
    from qmlir.targets.cpu.length_buckets import followed_lengths as followed_lengths
    from qmlir.targets.cpu.length_buckets import padded_modules as padded_modules
    from qmlir.targets.cpu.length_buckets import plan_of as plan_of
    from qmlir.targets.cpu.length_buckets import read_lengths as read_lengths
    from qmlir.targets.cpu.length_buckets import write_lengths as write_lengths
    from qmlir.targets.cpu.lowering import lowered as lowered
    from qmlir.targets.cpu.lowering import write_program as write_program
    from qmlir.targets.cpu.runtime.lengths import described as described
    from qmlir.targets.cpu.saved import PROGRAM_FIRST as PROGRAM_FIRST
    from qmlir.targets.cpu.saved import seal as seal
else:
    __getattr__, __dir__ = attached(__name__)
