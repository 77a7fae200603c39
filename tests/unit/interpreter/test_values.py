"""Values against their types: arrays of the right shape, and of the right elements where the tree knows these."""

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import InterpretationError

from qmlir.interpreter.values import check_value


@irdl_attr_definition
class TritType(ParametrizedAttribute, TypeAttribute):
    """An element type that the tree does not know."""

    name = "trit.t"


def test_elements_of_a_package_are_held_as_the_package_likes() -> None:
    tensor = TensorType(TritType(), [4])
    for dtype in (np.int8, np.float64, np.object_):
        check_value(np.zeros(4, dtype), tensor)
    with pytest.raises(InterpretationError, match=r"must have shape \[4\], but got \[3\]"):
        check_value(np.zeros(3, np.int8), tensor)
    with pytest.raises(InterpretationError, match=r"a value of type tensor<4x!trit.t> must be an array, but got list"):
        check_value([0, 0, 0, 0], tensor)
    with pytest.raises(
        InterpretationError, match="a value of type tensor<4xf32> must be an array of float32, but got int8"
    ):
        check_value(np.zeros(4, np.int8), TensorType(f32, [4]))
