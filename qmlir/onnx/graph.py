"""`GraphBuilder`: a block under construction for an ONNX graph, whose tensors become constants."""

from pathlib import Path

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.formats.graph import BlockBuilder
from qmlir.ir.builtin_types import AnyTensor, dense
from qmlir.ir.provenance import Origin
from qmlir.onnx.reading import tensor_bytes
from qmlir.onnx.types import ELEMENT_TYPES
from qmlir.text.elements import dense_dtype


class GraphBuilder(BlockBuilder):
    """Adds operations to the end of `block`. External tensors of the model are stored in files in `directory`."""

    def __init__(self, block: Block, directory: Path | None = None):
        super().__init__(block)
        self.directory = directory

    def tensor_array(self, proto: TensorProto) -> Array:
        """Returns the elements of a tensor of the model as a read-only array."""
        data = tensor_bytes(proto, self.directory)
        return np.frombuffer(data, dtype=dense_dtype(ELEMENT_TYPES[proto.data_type])).reshape(tuple(proto.dims))

    def initializer(self, proto: TensorProto, name: str) -> SSAValue:
        """Adds a tensor of the model as a constant, which shares its bytes."""
        data = tensor_bytes(proto, self.directory)
        type_: AnyTensor = TensorType(ELEMENT_TYPES[proto.data_type], list(proto.dims))
        return self.append(ConstantOp(dense(data, type_)), [Origin(name)]).result
