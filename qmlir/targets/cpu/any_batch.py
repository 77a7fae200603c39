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

from xdsl.dialects.builtin import ModuleOp

from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.ir.interfaces import MultipliesAndAdds, volume
from qmlir.specialization.inputs import function_of
from qmlir.specialization.padding.batch import batch_of
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.emitters.numba.runtime.batches import BatchPlan
from qmlir.targets.cpu.emitters.numba.runtime.ports import OPEN, ArrayPort

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
    """The open sizes of a function that are the batch: those along one axis of all inputs that have axes."""

    def __init__(self, module: ModuleOp, function: str, axis: int) -> None:
        """`axis` is open in all of them; `module` is divided without calls."""
        self._module, self._function, self._axis = module, function, axis
        self._works: dict[tuple[tuple[str, tuple[int, ...]], ...], int | None] = {}

    @staticmethod
    def of(module: ModuleOp, function: str, ports: Sequence[ArrayPort]) -> "OpenBatch | None":
        """That of the first axes, or of the second, whichever are open in all inputs."""
        shapes = [port.shape for port in ports if port.shape or not port.has_rank]
        for axis in (0, 1):
            if shapes and all(len(shape) > axis and shape[axis] == OPEN for shape in shapes):
                return OpenBatch(module, function, axis)
        return None

    def one(self, shapes: Shapes) -> Shapes | None:
        """The shapes of one image, where its program takes any number of them and nothing else is open."""
        one = self._resized(shapes, 1)
        return None if any(OPEN in shape for shape in one.values()) or self._work(one) is None else one

    def piece(self, shapes: Shapes) -> Shapes:
        """The shapes of the images of a piece, whose program takes any number, where images are independent."""
        found = {shape[self._axis] for shape in shapes.values() if shape}
        if found == {1} or len(found) != 1:
            return shapes
        one = self._resized(shapes, 1)
        work = self._work(one)
        if work is None:
            return shapes
        (count,), size = found, 1
        while 2 * PIECE_FACTOR * size <= count and PIECE_FACTOR * size * work <= MOST_WORK:
            size *= PIECE_FACTOR
        piece = self._resized(shapes, size)
        return one if self._work(piece) is None else piece

    def _resized(self, shapes: Shapes, count: int) -> Shapes:
        axis = self._axis
        return {name: (*each[:axis], count, *each[axis + 1 :]) if each else () for name, each in shapes.items()}

    def _work(self, shapes: Shapes) -> int | None:
        """The work of these images; `None` where a program for them takes no other number."""
        key = tuple(sorted(shapes.items()))
        if key not in self._works:
            self._works[key] = self._work_of(shapes)
        return self._works[key]

    def _work_of(self, shapes: Shapes) -> int | None:
        try:
            known = specialize(self._module, shapes, function=self._function)
        except DiagnosticError:  # so many images do not fit: those of a run may, whose program says what does not
            return None
        plan = batch_plan(known, 1, self._function)
        is_divided = not plan.reason and set(plan.inputs.values()) == {self._axis}
        return work_of(known, self._function) if is_divided else None
