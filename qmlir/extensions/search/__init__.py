"""The search for bit widths, and for schedules of kernels."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    services={
        "schedule_choices": "qmlir.targets.cpu.scheduled.schedule:schedule_choices",
        "tuned_schedules": "qmlir.targets.cpu.tuned:tuned_for",
    },
    commands={
        "search": "qmlir.tools.commands.search:SEARCH",
        "tune": "qmlir.tools.commands.tune:TUNE",
    },
    command_help={
        "search": "find a bit width for each layer (mixed precision)",
        "tune": "search for faster kernels for this machine",
    },
    api={
        "search": "qmlir.workflows.searching:search",
        "tune": "qmlir.workflows.tuning:tune",
    },
    built_for=INTERFACE,
)
