"""The search for layer bit widths, and for kernel schedules."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    services={
        "schedule_choices": "qmlir.extensions.search.schedules:schedule_choices",
        "tuned_schedules": "qmlir.extensions.search.tuned:tuned_for",
    },
    commands={
        "search": "qmlir.extensions.search.search_command:SEARCH",
        "tune": "qmlir.extensions.search.tune_command:TUNE",
    },
    command_help={
        "search": "find a bit width for each layer (mixed precision)",
        "tune": "search for faster kernels for this machine",
    },
    api={
        "search": "qmlir.extensions.search.searching:search",
        "tune": "qmlir.extensions.search.tuning:tune",
    },
    built_for=INTERFACE,
)
