"""Benchmarks against other runtimes: `qmlir bench`."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    commands={"bench": "qmlir.extensions.bench.bench_command:BENCH"},
    command_help={"bench": "benchmark a model against other runtimes"},
    built_for=INTERFACE,
)
