"""Shapes that hold the same elements: which axes of one are which of the other."""

from collections.abc import Sequence

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
