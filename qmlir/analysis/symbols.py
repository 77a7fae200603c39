"""The names of a module, and new ones."""

from xdsl.dialects.builtin import ModuleOp, StringAttr


def unique_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, with the first number as suffix that makes it unique in `taken`; it is added there."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def symbols_of(module: ModuleOp) -> set[str]:
    """The names of everything in `module`."""
    names = (op.get_attr_or_prop("sym_name") for op in module.ops)
    return {name.data for name in names if isinstance(name, StringAttr)}
