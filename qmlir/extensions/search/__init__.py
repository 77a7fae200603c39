"""The search for layer bit widths, and for kernel schedules."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.search.search_running import run_search as run_search
    from qmlir.extensions.search.tune_running import run_tune as run_tune
else:
    __getattr__, __dir__ = attached(__name__)

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
    api={"search": "qmlir.extensions.search.searching:search", "tune": "qmlir.extensions.search.tuning:tune"},
    built_for=INTERFACE,
)
