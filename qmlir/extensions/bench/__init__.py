"""Benchmarks against other runtimes: `qmlir bench`."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.bench.bench_running import run_bench as run_bench
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    commands={"bench": "qmlir.extensions.bench.bench_command:BENCH"},
    command_help={"bench": "benchmark a model against other runtimes"},
    built_for=INTERFACE,
)
