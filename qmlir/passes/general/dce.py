"""`dce` and `symbol-dce`: erase dead operations, and private functions that are never called."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriterListener
from xdsl.traits import SymbolOpInterface

from qmlir.ir.effects import erase_dead
from qmlir.ir.passes import count


@dataclass(frozen=True)
class Dce(ModulePass):
    """Erases operations without side effects whose results do not reach an operation with side effects or a terminator.

    Before:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = nn.relu %x : tensor<2xf32>
      func.return %x : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```
    """

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead(op.body, PatternRewriterListener(operation_removal_handler=[lambda _: count("operations erased")]))


def _symbols_in(attribute: Attribute) -> Iterator[str]:
    match attribute:
        case SymbolRefAttr():
            yield attribute.root_reference.data
        case ArrayAttr():
            for element in attribute.data:
                yield from _symbols_in(element)
        case DictionaryAttr():
            for element in attribute.data.values():
                yield from _symbols_in(element)
        case ParametrizedAttribute():
            for parameter in attribute.parameters:
                yield from _symbols_in(parameter)
        case _:
            return


def _named_in(op: Operation) -> set[str]:
    return {
        name
        for nested in op.walk()
        for attribute in (*nested.properties.values(), *nested.attributes.values())
        for name in _symbols_in(attribute)
    }


def _is_private(op: Operation) -> bool:
    visibility = op.properties.get("sym_visibility", op.attributes.get("sym_visibility"))
    return isinstance(visibility, StringAttr) and visibility.data == "private"


@dataclass(frozen=True)
class SymbolDce(ModulePass):
    """Erases private functions (and other private symbols) that no live operation references.

    Before:

    ```mlir
    func.func private @unused(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```

    After:

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      func.return %x : tensor<2xf32>
    }
    ```
    """

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols: dict[str, Operation] = {}
        pending: list[Operation] = []
        for child in op.body.block.ops:
            trait = child.get_trait(SymbolOpInterface)
            symbol = trait.get_sym_attr_name(child) if trait else None
            if symbol is None or not _is_private(child):
                pending.append(child)
            else:
                symbols[symbol.data] = child
        while pending:
            for name in _named_in(pending.pop()):
                if (found := symbols.pop(name, None)) is not None:
                    pending.append(found)
        for dead in symbols.values():
            dead.detach()
            dead.erase()
        count("symbols erased", len(symbols))
