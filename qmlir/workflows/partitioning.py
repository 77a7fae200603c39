"""Partitioning of a quantized module among targets, with a report, as in `qmlir partition`."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.target.attributes import TARGETS, set_targets, targets_of
from qmlir.ir.diagnostics import text_error, without_remarks
from qmlir.ir.verification import verify
from qmlir.target import find_targets
from qmlir.targets.partitioning.preferences import Preferences
from qmlir.targets.partitioning.quant_partition import partition as divide
from qmlir.targets.partitioning.report import PartitionReport
from qmlir.text.tables import Readable
from qmlir.workflows.loading import HoldsModule, takes_model


@dataclass(frozen=True, repr=False)
class Partitioned(HoldsModule, Readable):
    """A model divided among targets. Every function that takes a model accepts it."""

    module: ModuleOp
    """The module, in which each part is a private function with the attribute `target.part`."""

    reports: tuple[PartitionReport, ...]
    """The report of each partitioned function."""

    def text(self) -> str:
        """Formats the reports.

        Returns:
            The reports of the functions in order.
        """
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
    """Assigns the operations of a quantized model to the devices that compute them.

    The model is not changed. Each operation is assigned to the first device that supports it, and the CPU computes all
    others. Among such partitions, the cheapest one found is used: the cost of a value that is transferred between
    devices is its size in bytes plus `transfer_bytes`.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        device: Targets, preferred first: `"npu,cpu"`, or a sequence of names. Empty uses those of the model.
        transfer_bytes: Fixed cost of a transfer, in bytes, at least 0.
        intensity: Minimum number of multiply-adds per transferred byte for which an operation is assigned to a device.
            With 0, a device gets all operations that it supports.
        min_ops: Minimum number of operations in a part, at least 1. Smaller parts are assigned to the next target or
            the CPU.

    Returns:
        A copy of the model whose parts are functions, and a report. Printing it shows the report.

    Raises:
        DiagnosticError: A target is unknown, no target is given or stored in the model, or a number is out of range.

    Example:
        >>> parts = qmlir.partition("docs/examples/partition.mlir")
        >>> [(part.name, part.target) for part in parts.reports[0].parts]
        [('main_dsp_0', 'dsp'), ('main_dsp_1', 'dsp')]
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
    with without_remarks():  # the report contains them
        reports = tuple(divide(clone, targets, preferences))
    verify(clone)
    return Partitioned(clone, reports)
