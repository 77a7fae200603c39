"""The command `qmlir new-dialect`, which creates a package for a new dialect from templates."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.new_dialect.writing import run_new_dialect as run_new_dialect
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    commands={"new-dialect": "qmlir.extensions.new_dialect.new_dialect_command:NEW_DIALECT"},
    command_help={"new-dialect": "create a package for a new dialect, with tests and CI"},
    built_for=INTERFACE,
)
