"""Constants as memory: one `memref.global` for equal ones, named after the value that it was."""

import re

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir.analysis.symbols import symbols_of, unique_name
from qmlir.ir.builtin_types import as_dense, tensor
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.isa.base import ALIGNMENT

_DEFAULT_NAME = "constant"


class Globals:
    """The constants of a module, in front of its functions."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._names = symbols_of(module)
        self._known: dict[Attribute, memref.GlobalOp] = {}

    def of(self, constant: Operation) -> memref.GetGlobalOp:
        """The memory of a constant tensor. Raises `DiagnosticError` where its elements are not dense."""
        result = constant.results[0]
        value = constant.get_attr_or_prop("value")
        dense = as_dense(value) if value is not None else None
        if dense is None or not constant.has_trait(ConstantLike, value_if_unregistered=False):
            raise op_error(constant, f"must have dense elements, but got {value}")
        declared = self._known.get(dense)
        if declared is None:
            declared = self._known[dense] = self._declare(result, dense)
        return memref.GetGlobalOp(declared.sym_name.data, declared.type)

    def _declare(self, value: SSAValue, elements: Attribute) -> memref.GlobalOp:
        type_ = tensor(value.type)
        hint = re.sub(r"\W", "_", value.name_hint or "") or _DEFAULT_NAME
        name = unique_name(hint if not hint[0].isdigit() else f"{_DEFAULT_NAME}_{hint}", self._names)
        declared = memref.GlobalOp.get(
            StringAttr(name),
            MemRefType(type_.get_element_type(), type_.get_shape()),
            elements,
            constant=UnitAttr(),
            alignment=ALIGNMENT,
        )
        last = next(reversed(self._known.values()), None)
        if last is not None:
            self._module.body.block.insert_op_after(declared, last)
        elif (first := self._module.body.block.first_op) is not None:
            self._module.body.block.insert_op_before(declared, first)
        return declared
