"""The code that the commands of `qmlir` run, imported when a command line has been checked."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.tools.running.compare import run_compare as run_compare
    from qmlir.tools.running.compile import run_compile as run_compile
    from qmlir.tools.running.doctor import run_doctor as run_doctor
    from qmlir.tools.running.export import run_export as run_export
    from qmlir.tools.running.opt import run_opt as run_opt
    from qmlir.tools.running.partition import run_partition as run_partition
    from qmlir.tools.running.profile import run_profile as run_profile
    from qmlir.tools.running.quantize import run_quantize as run_quantize
    from qmlir.tools.running.run import run_run as run_run
else:
    __getattr__, __dir__ = attached(__name__)
