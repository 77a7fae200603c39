"""qmlir: a multi-dialect quantizing compiler for neural networks.

`docs/reference/python.md` describes every name. Each name is imported on first use, so that importing the package
is fast.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.extensions.aimet.writing import export_encodings as export_encodings
    from qmlir.extensions.aot.ahead import emit as emit
    from qmlir.extensions.litert.files import export_litert as export_litert
    from qmlir.extensions.qonnx.exporting import export_qonnx as export_qonnx
    from qmlir.extensions.report.explaining import explain as explain
    from qmlir.extensions.report.inspecting import inspect as inspect
    from qmlir.extensions.report.render import load_ipython_extension as load_ipython_extension
    from qmlir.extensions.report.render import unload_ipython_extension as unload_ipython_extension
    from qmlir.extensions.report.reporting import report as report
    from qmlir.extensions.search.searching import search as search
    from qmlir.extensions.search.tuning import tune as tune
    from qmlir.extensions.training.differentiating import gradient as gradient
    from qmlir.extensions.training.finetuning import finetune as finetune
    from qmlir.extensions.training.trainable import trainable as trainable
    from qmlir.quantization.profiles.profile import Profile as Profile
    from qmlir.registry import contributed_names as contributed_names
    from qmlir.targets.compiling import load_program as load_program
    from qmlir.targets.cpu.program import Program as Program
    from qmlir.targets.cpu.runtime.errors import InputError as InputError
    from qmlir.workflows.comparing import compare as compare
    from qmlir.workflows.comparing import compare_dump as compare_dump
    from qmlir.workflows.exporting import export_onnx as export_onnx
    from qmlir.workflows.loading import load as load
    from qmlir.workflows.partitioning import partition as partition
    from qmlir.workflows.profiling import profile as profile
    from qmlir.workflows.quantizing import quantize as quantize
    from qmlir.workflows.running import interpret as interpret
    from qmlir.workflows.starting.compiling import compile as compile
else:
    __getattr__, __dir__ = attached(__name__)

__version__ = version("qmlir")
