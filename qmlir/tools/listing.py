"""What `--list-passes` and `--show-dialects` print."""

import inspect

from qmlir.environment import Environment
from qmlir.passmanager.pipeline import option_rows


def passes_text(environment: Environment) -> str:
    """Every pass: name, what it does, its options with types and defaults."""
    lines: list[str] = []
    for name, factory in sorted(environment.passes.items()):
        pass_type = factory()
        owner = environment.owners[f"pass '{name}'"]
        lines.append(f"{name}  [{owner}]")
        documentation = inspect.getdoc(pass_type) or ""
        lines.extend(f"    {line}".rstrip() for line in documentation.splitlines())
        for option, type_, default in option_rows(pass_type):
            lines.append(f"    option {option}: {type_}" + (f" (default {default})" if default else " (required)"))
        lines.append("")
    return "\n".join(lines)


def dialects_text(environment: Environment) -> str:
    """Every dialect: name and the package that brings it."""
    lines: list[str] = []
    for name in sorted(environment.dialects):
        owner = environment.owners[f"dialect '{name}'"]
        lines.append(f"{name}  [{owner}]\n")
    return "".join(lines)
