"""Any number of images by programs for one, or for some: how a static module is divided, and how large pieces are.

A program whose batch is open is compiled for one image and, where an image is little work, for 16, 256 and so on, when
as many come: a row of weights that is loaded serves 16 images. Processor time of an image in us, on one core of an EPYC
with AVX512-VNNI, each by a program for so many images:

    layers of a perceptron    1     16    256   4096
    64, 32, 10                3.0   .28   .11   .03
    784, 256, 10              4.5   .91   .73   .69
    1024, 1024, 1024          28    6.0   5.3   4.9
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, Severity, emit
from qmlir.ir.interfaces import MultipliesAndAdds, volume
from qmlir.specialization.inputs import function_of
from qmlir.specialization.padding.batch import (
    BatchAxes,
    batch_candidates,
    batch_of,
    dynamic_axes,
    mark_batch,
    proof_of,
    with_size,
)
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.runtime.batches import BatchPlan
from qmlir.targets.cpu.runtime.ports import OPEN

PIECE_FACTOR = 16
"""How many times the images of a piece are those of the next smaller one."""

MOST_WORK = 1 << 25
"""Products and elements that a piece of several images computes at most: a millisecond or less. Larger ones gain little
by the table above, and their values leave the caches."""

Shapes = Mapping[str, tuple[int, ...]]


def batch_plan(module: ModuleOp, threads: int, function: str = "main") -> BatchPlan:
    """How pieces of a batch are run by what `module` computes, or why they are not; so many at once at most."""
    try:
        found = batch_of(module, function)
    except DiagnosticError as error:
        return BatchPlan(reason=error.diagnostic.message, threads=threads)
    return BatchPlan(found.inputs, found.outputs, threads=threads)


def work_of(module: ModuleOp, function: str = "main") -> int:
    """The products and the elements that a function of known sizes computes."""
    found = 0
    for op in function_of(module, function).walk():
        found += op.multiply_adds() if isinstance(op, MultipliesAndAdds) else 0
        found += sum(volume(type_.get_shape()) for each in op.results if (type_ := ranked_tensor(each.type)))
    return found


class OpenBatch:
    """The batch of a function of dynamic sizes, as far as samples were proven to be independent."""

    def __init__(self, module: ModuleOp, function: str) -> None:
        """`module` is divided without calls."""
        self._module, self._function = module, function
        self._candidates = batch_candidates(function_of(module, function))
        self._proofs: dict[Any, BatchAxes | DiagnosticError] = {}
        self._works: dict[tuple[tuple[str, tuple[int, ...]], ...], int | None] = {}
        self._is_told = False

    def proof(self, shapes: Mapping[str, Sequence[int]]) -> BatchAxes | DiagnosticError:
        """The axes of the batch of inputs of `shapes`, or why they have none."""
        key = tuple(
            (len({shapes[name][axis] for name, axis in axes.items()}) == 1, *sorted(with_size(shapes, axes, 1).items()))
            for axes in self._candidates
        )
        if key not in self._proofs:
            found = proof_of(self._module, shapes, self._function)
            if isinstance(found, DiagnosticError):  # without its operation, which would keep a clone of the module
                found = DiagnosticError(replace(found.diagnostic.for_caller(), op=None))
            self._proofs[key] = found
        return self._proofs[key]

    def specialized(self, module: ModuleOp, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
        """`module` for inputs of `shapes`, marked with what is proven of its batch."""
        known = specialize(module, shapes, function=self._function)
        dynamic = dynamic_axes(function_of(self._module, self._function))
        mark_batch(function_of(known, self._function), dynamic, self.proof(shapes))
        return known

    def one(self, shapes: Shapes) -> Shapes | None:
        """The shapes of one sample, if its program takes any number of them and nothing else is dynamic."""
        for axes in self._candidates:
            one = with_size(shapes, axes, 1)
            if any(OPEN in shape for shape in one.values()):
                continue
            proof = self.proof(one)
            if isinstance(proof, BatchAxes) and proof.inputs == axes and self._work(one) is not None:
                return one
        return None

    def piece(self, shapes: Shapes) -> Shapes:
        """The shapes of the samples that are computed at once: all of them, unless they are independent."""
        proof = self.proof(shapes)
        if not isinstance(proof, BatchAxes):
            self._tell(proof)
            return shapes
        one = with_size(shapes, proof.inputs, 1)
        count = next(shapes[name][axis] for name, axis in proof.inputs.items())
        work = None if count == 1 else self._work(one)
        if work is None:
            return shapes
        size = 1
        while 2 * PIECE_FACTOR * size <= count and PIECE_FACTOR * size * work <= MOST_WORK:
            size *= PIECE_FACTOR
        piece = with_size(shapes, proof.inputs, size)
        return one if self._work(piece) is None else piece

    def _tell(self, error: DiagnosticError) -> None:
        if not self._is_told and self._candidates:
            self._is_told = True
            said = f"compiling each new input size at its first call: {error.diagnostic.message}"
            emit(replace(error.diagnostic, severity=Severity.REMARK, message=said))

    def _work(self, shapes: Shapes) -> int | None:
        """The work of these samples; `None` if a program for them takes no other number."""
        key = tuple(sorted(shapes.items()))
        if key not in self._works:
            self._works[key] = self._work_of(shapes)
        return self._works[key]

    def _work_of(self, shapes: Shapes) -> int | None:
        try:
            known = self.specialized(self._module, shapes)
        except DiagnosticError:  # so many samples do not fit: those of a run may, whose program says what does not
            return None
        return None if batch_plan(known, 1, self._function).reason else work_of(known, self._function)
