"""Analyses that passes share: ranges of values, operands of structured operations, and chains of float operations.

The functions that schedules use are loaded lazily, because code that only reads instruction sets must not load the
kernels.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.analysis.contraction_ranges import centered_input as centered_input
    from qmlir.analysis.contraction_ranges import centered_weights as centered_weights
    from qmlir.analysis.contraction_ranges import fit_short_sums as fit_short_sums
    from qmlir.analysis.contraction_ranges import known_weights as known_weights
    from qmlir.analysis.contraction_ranges import summed_over_blocks as summed_over_blocks
    from qmlir.analysis.operand_accesses import is_movement as is_movement
    from qmlir.analysis.operand_accesses import output_maps as output_maps
    from qmlir.analysis.operand_accesses import permutation_of as permutation_of
    from qmlir.analysis.operand_accesses import readings_of as readings_of
else:
    __getattr__, __dir__ = attached(__name__)
