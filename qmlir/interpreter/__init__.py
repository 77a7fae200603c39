"""The reference interpreter: runs a module at any level of lowering, with one evaluator for each operation."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.interpreter.differences import Execution as Execution
    from qmlir.interpreter.differences import inputs_in as inputs_in
    from qmlir.interpreter.images import open_image as open_image
    from qmlir.interpreter.progress_terminal import TerminalBar as TerminalBar
    from qmlir.interpreter.run import interpret as interpret
else:
    __getattr__, __dir__ = attached(__name__)
