"""The compiled programs of the CPU target, which extensions are tested with, too."""

from tests.unit.targets.cpu.conftest import image, module

__all__ = ["image", "module"]
