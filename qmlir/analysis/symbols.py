"""Names of a module, and shapes that hold the same elements."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr

# The names of a module, and new ones.


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


# Shapes that hold the same elements: which axes of one are which of the other.

Groups = list[tuple[list[int], list[int]]]


def common_groups(source: Sequence[int], target: Sequence[int]) -> Groups:
    """The smallest groups of neighbouring axes of two shapes that hold as many elements on both sides.

    Axes of one step at the end belong to the last group. Where a size is 0, all axes are one group.
    """
    if 0 in (*source, *target) or not source or not target:
        return [(list(range(len(source))), list(range(len(target))))]
    groups: Groups = []
    i = j = 0
    while i < len(source) and j < len(target):
        left, right = [i], [j]
        a, b = source[i], target[j]
        while a != b:
            if a < b:
                i += 1
                left.append(i)
                a *= source[i]
            else:
                j += 1
                right.append(j)
                b *= target[j]
        groups.append((left, right))
        i, j = i + 1, j + 1
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(target)))
    return groups


def real_axes(shape: Sequence[int]) -> list[int]:
    """The axes of more or less than one step."""
    return [axis for axis, size in enumerate(shape) if size != 1]


def only_unit_axes_differ(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are the same but for axes of one step."""
    return [a[axis] for axis in real_axes(a)] == [b[axis] for axis in real_axes(b)]
