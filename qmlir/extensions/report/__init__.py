"""The HTML report, explanations and summaries of models."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    commands={
        "inspect": "qmlir.tools.commands.inspect:INSPECT",
        "explain": "qmlir.tools.commands.explain:EXPLAIN",
        "report": "qmlir.tools.commands.report:REPORT",
    },
    command_help={
        "inspect": "show the layers, types, multiply-adds and sizes of a model",
        "explain": "explain the types and the kernel of a node",
        "report": "write an HTML report on the quantization of a model",
    },
    api={
        "explain": "qmlir.workflows.explaining:explain",
        "inspect": "qmlir.workflows.inspection.inspecting:inspect",
        "report": "qmlir.workflows.reporting.making:report",
        "load_ipython_extension": "qmlir.workflows.reporting.notebook:load_ipython_extension",
        "unload_ipython_extension": "qmlir.workflows.reporting.notebook:unload_ipython_extension",
    },
    built_for=INTERFACE,
)
