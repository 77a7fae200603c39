"""Unique symbol names, and groups of axes that hold the same elements in two shapes."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr

# Unique names.


def first_free(is_taken: Callable[[int], bool], first: int) -> int:
    """Returns `first` if it is free, otherwise a larger free number whose predecessor is taken.

    If numbers are always taken in order, this is the smallest free number. The search doubles its step and then
    bisects. A linear search would take quadratic time if thousands of values ask for the same name.
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
    """Returns `wanted`, with a numeric suffix if it is in `taken`, and adds the result to `taken`."""
    name = wanted
    if wanted in taken:
        name = f"{wanted}{separator}{first_free(lambda number: f'{wanted}{separator}{number}' in taken, 2)}"
    taken.add(name)
    return name


def symbols_of(module: ModuleOp) -> set[str]:
    """Returns the symbol names of the top-level operations of `module`."""
    names = (op.get_attr_or_prop("sym_name") for op in module.ops)
    return {name.data for name in names if isinstance(name, StringAttr)}


# Reshapes: which axes of the source correspond to which axes of the target.

Groups = list[tuple[list[int], list[int]]]


def common_groups(source: Sequence[int], target: Sequence[int]) -> Groups:
    """Returns the smallest groups of adjacent axes with equal numbers of elements in both shapes.

    Trailing axes of size 1 belong to the last group. If an axis has size 0, all axes form one group.
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


def kept_axes(sizes: Sequence[int], reduced: Sequence[int]) -> list[int]:
    """Returns the axes of a slice of `sizes` that are left in the shape `reduced`, which may drop axes of size 1."""
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        if size != 1 or list(reduced[len(kept) : len(kept) + 1]) == [1]:
            kept.append(axis)
    return kept


def real_axes(shape: Sequence[int]) -> list[int]:
    """Returns the axes whose size is not 1."""
    return [axis for axis, size in enumerate(shape) if size != 1]


def only_unit_axes_differ(a: Sequence[int], b: Sequence[int]) -> bool:
    """Returns True if two shapes are equal after all axes of size 1 are dropped."""
    return [a[axis] for axis in real_axes(a)] == [b[axis] for axis in real_axes(b)]
