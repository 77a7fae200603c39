"""The names of a module, and new ones."""

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp, StringAttr


def first_free(is_taken: Callable[[int], bool], first: int) -> int:
    """A number from `first` on that is not taken, whose predecessor is; `first` itself if it is free.

    It is the smallest free number if numbers are taken in order. The search doubles its step, then bisects: trying one
    after the other would take quadratic time where thousands of values wish for one name.
    """
    if not is_taken(first):
        return first
    taken, step = first, 1
    while is_taken(taken + step):
        taken, step = taken + step, 2 * step
    free = taken + step
    while free - taken > 1:
        middle = (taken + free) // 2
        taken, free = (middle, free) if is_taken(middle) else (taken, middle)
    return free


def unique_name(wanted: str, taken: set[str], separator: str = "_") -> str:
    """`wanted`, with a number as suffix that makes it unique in `taken` if it is there; the name is added there."""
    name = wanted
    if wanted in taken:
        name = f"{wanted}{separator}{first_free(lambda number: f'{wanted}{separator}{number}' in taken, 2)}"
    taken.add(name)
    return name


def symbols_of(module: ModuleOp) -> set[str]:
    """The names of everything in `module`."""
    names = (op.get_attr_or_prop("sym_name") for op in module.ops)
    return {name.data for name in names if isinstance(name, StringAttr)}
