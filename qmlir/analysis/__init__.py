"""What passes ask of a module: ranges and magnitudes of values, readings of regions, float operations left.

What schedules ask of kernels is loaded when they ask: who only wants to know of instruction sets has no kernels.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.analysis.contraction_ranges import fit_short_sums as fit_short_sums
    from qmlir.analysis.contraction_ranges import summed_over_blocks as summed_over_blocks
else:
    __getattr__, __dir__ = attached(__name__)
