from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.pipelines import PIPELINES as PIPELINES
    from qmlir.tools.command_runner import run_command as run_command
    from qmlir.tools.irdl import load_irdl as load_irdl
    from qmlir.tools.listing import LISTINGS as LISTINGS
else:
    __getattr__, __dir__ = attached(__name__)
