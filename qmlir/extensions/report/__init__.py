"""The HTML report, explanations and summaries of models."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.report.explain_running import run_explain as run_explain
    from qmlir.extensions.report.inspect_running import run_inspect as run_inspect
    from qmlir.extensions.report.report_running import run_report as run_report
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    commands={
        "inspect": "qmlir.extensions.report.inspect_command:INSPECT",
        "explain": "qmlir.extensions.report.explain_command:EXPLAIN",
        "report": "qmlir.extensions.report.report_command:REPORT",
    },
    command_help={
        "inspect": "show the layers, types, multiply-adds and sizes of a model",
        "explain": "explain the types and the kernel of a node",
        "report": "write an HTML report on the quantization of a model",
    },
    api={
        "explain": "qmlir.extensions.report.explaining:explain",
        "inspect": "qmlir.extensions.report.inspecting:inspect",
        "report": "qmlir.extensions.report.reporting:report",
        "load_ipython_extension": "qmlir.extensions.report.render:load_ipython_extension",
        "unload_ipython_extension": "qmlir.extensions.report.render:unload_ipython_extension",
    },
    built_for=INTERFACE,
)
