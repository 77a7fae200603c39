"""A quantized module with what was made on the way to it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from xdsl.dialects.builtin import ModuleOp

from qmlir.quantization.profiles.file import Profile

if TYPE_CHECKING:  # to load a model compares nothing
    from qmlir.workflows.repairing import Repair
    from qmlir.workflows.validating import Validation


class Quantized(NamedTuple):
    """A quantized module, and what it comes from."""

    module: ModuleOp
    profile: Profile
    profiled: ModuleOp
    """The lowered module with what the profile says in its types: the one that was decided about."""

    rules_used: frozenset[int]
    """The places of the rules that decided something, among those of `make_recipe`."""

    float_reasons: Mapping[str, str]
    """Why operations were left in float, by key."""

    validation: "Validation | None" = None
    """How far it is from the float module; `None` where that was not asked for, or where there are no samples."""

    repair: "Repair | None" = None
    """What the passes of an effort gave; `None` without one."""
