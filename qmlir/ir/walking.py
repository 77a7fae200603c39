"""All operations inside an operation as a list: xDSL's own walk resumes a generator for each level of a nest."""

from xdsl.ir import Operation


def operations_in(root: Operation) -> list[Operation]:
    """`root` and what is nested in it, in the order of `root.walk()`; backwards, regions come before what has them."""
    found = [root]
    _add_nested(root, found)
    return found


def _add_nested(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        for block in region.blocks:
            each = block.first_op
            while each is not None:
                found.append(each)
                if each.regions:
                    _add_nested(each, found)
                each = each.next_op
