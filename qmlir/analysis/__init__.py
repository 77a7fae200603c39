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
else:
    __getattr__, __dir__ = attached(__name__)
