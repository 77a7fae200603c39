"""The page of PDL patterns: what is matched and made, and the functions that a pattern calls by name."""

from docs.generator.markdown import GENERATED, code, summary, table
from qmlir import registry
from qmlir.extensions.pdl.matching import COMMUTATIVE
from qmlir.extensions.pdl.natives import Role, native_functions
from qmlir.registry.package import THE_TREE

_INTRODUCTION = """\
A PDL file holds patterns as text: what to match in a module of any dialects, and what replaces it. `apply-pdl`
([passes](passes.md)) applies it anywhere in a pipeline, `qmlir-opt --pdl-file` before the pipeline, and a package ships
it as `Contribution.pdl`. The operations of PDL are those of
[upstream MLIR](https://mlir.llvm.org/docs/Dialects/PDLOps/), in xDSL's syntax."""

_MATCHING = """\
## What is matched

- The operation that `pdl.rewrite` names is the root. A pattern whose `pdl.rewrite` names none has several roots:
  operations that the last one does not reach are searched among the users of matched values. New operations are
  inserted before the first root, and the operands of the pattern must be defined there.
- `pdl.operands`, `pdl.types` and `pdl.results` match any number; one range in a list takes what the others leave.
- An operation without operands or result types in its text has none. An omitted attribute has its default.
- If there are alternatives, each is tried until all constraints hold. `{isNegated = true}` negates a constraint.
- Patterns with more benefit are tried first. Unused operations are erased.

## What is made

- An operation without result types gets inferred ones, if it infers them.
- A new operation has the origins of all operations that the match removes, a constant those of constants; its results
  keep the names of the tensors that they replace.
- `pdl.rewrite %root with "name"(…)` leaves the rewrite to a function, whose first parameter may be the
  `PatternRewriter`.
- An error (an unknown function, an operation that does not verify) names the pattern, the line of its file, and the
  operation where it was tried. `--pass-statistics` counts the matches of each pattern."""

_OWN = """\
## Functions of a package

A package adds functions as tables from name to function, `pdl.constraints` and `pdl.rewrites` of its
`Contribution.tables`. The annotations give its signature: `Operation`, `SSAValue`, `Typed` (the type
of a value, or a type; `qmlir.extensions.pdl.natives`), `Attribute`, `TypeAttribute`, and `int`, `float`, `str`, `bool`,
`tuple[int, ...]`, `tuple[str, ...]` for the content of an attribute. A constraint returns whether it holds, or a result
or `None`; it does not hold of an attribute with another content. An exception is an error at the line of the
pattern."""

_TITLES = {"graph_functions": "Operations, values and provenance", "type_functions": "Types"}


def _functions(role: Role) -> str:
    parts: list[str] = []
    if role is Role.CONSTRAINT:
        said = "The first two operands of these operations of the pattern may be exchanged."
        parts.append(table(("constraint", "what it asks"), [(code(f"{COMMUTATIVE}(ops…: operation)"), said)]).rstrip())
    for row in (row for name, row in THE_TREE.rows("tables") if name == f"pdl.{role}s"):
        subject = row.partition(":")[0].rpartition(".")[2]
        there = native_functions(role)
        rows = [(code(str(there[name])), summary(there[name].function)) for name in registry.load(row)]
        parts.append(f"### {_TITLES[subject]}")
        parts.append(table((str(role), "what it asks" if role is Role.CONSTRAINT else "what it gives"), rows).rstrip())
    return "\n\n".join(parts)


def page() -> str:
    """The page."""
    return (
        "\n\n".join(
            (
                GENERATED,
                "# Patterns as text",
                _INTRODUCTION,
                _MATCHING,
                "## Constraints",
                _functions(Role.CONSTRAINT),
                "## Functions in rewrites",
                _functions(Role.REWRITE),
                _OWN,
            )
        )
        + "\n"
    )
