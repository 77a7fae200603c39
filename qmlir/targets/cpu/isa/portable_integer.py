"""`portable-integer`: `portable` for processors without floats, whose requantizations are computed in integers."""

from dataclasses import replace

from qmlir.targets.cpu.isa.portable import PORTABLE

PORTABLE_INTEGER = replace(
    PORTABLE,
    name="portable-integer",
    has_floats=False,
    requantizes_by_floats=False,
    near_bytes=1 << 13,
    processors=("cortex-m0", "cortex-m0plus", "cortex-m1", "cortex-m23", "cortex-m3"),
)
