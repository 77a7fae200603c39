"""A quantized module divided among targets, with a report: what `qmlir partition` does."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.target.attributes import TARGETS, set_targets, targets_of
from qmlir.ir.diagnostics import text_error, without_remarks
from qmlir.ir.verification import verify
from qmlir.target import find_targets
from qmlir.targets.partitioning.choices import Preferences
from qmlir.targets.partitioning.partition import partition as divide
from qmlir.targets.partitioning.report import PartitionReport
from qmlir.text.readable import Readable
from qmlir.workflows.loading import HoldsModule, takes_model


@dataclass(frozen=True, repr=False)
class Partitioned(HoldsModule, Readable):
    """A module whose parts are functions of targets, and the report of each function that was divided."""

    module: ModuleOp
    reports: tuple[PartitionReport, ...]

    def text(self) -> str:
        """The reports, functions in order."""
        return "\n".join(each.text() for each in self.reports)


@takes_model
def partition(
    module: ModuleOp,
    device: str | Sequence[str] = "",
    *,
    transfer_bytes: int = Preferences.transfer_bytes,
    intensity: float = Preferences.intensity,
    min_ops: int = Preferences.min_ops,
) -> Partitioned:
    """A clone of a quantized module, each operation given to the first of `device` that computes it: `"npu,cpu"`.

    Without `device` they are those that the module names. The plan is the cheapest that is found: a value that crosses
    a border costs its bytes plus `transfer_bytes`. With an `intensity` a device gets an operation only for at least
    that many multiply-adds per byte over its border; parts of fewer than `min_ops` operations stay on the host.

    Raises `DiagnosticError` for what is not a target or no such number, and where neither `device` nor the module says
    a target.
    """
    try:
        preferences = Preferences(transfer_bytes, intensity, min_ops)
    except ValueError as error:
        raise text_error(str(error)) from error
    clone = module.clone()
    if device:
        set_targets(clone, (each.description for each in find_targets(device)))
    targets = targets_of(clone)
    if not targets:
        remedy = "pass --device npu,cpu (device='npu,cpu')"
        raise text_error(f"no target: the module has no {TARGETS}; {remedy}")
    with without_remarks():  # the report has them
        reports = tuple(divide(clone, targets, preferences))
    verify(clone)
    return Partitioned(clone, reports)
