"""The subcommands of `qmlir`, one file each, loaded when they are called: the rows are in `qmlir.tools.qmlir_cli`."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.tools.commands.bench import BENCH as BENCH
    from qmlir.tools.commands.compare import COMPARE as COMPARE
    from qmlir.tools.commands.compile import COMPILE as COMPILE
    from qmlir.tools.commands.completion import COMPLETION as COMPLETION
    from qmlir.tools.commands.doctor import DOCTOR as DOCTOR
    from qmlir.tools.commands.explain import EXPLAIN as EXPLAIN
    from qmlir.tools.commands.export import EXPORT as EXPORT
    from qmlir.tools.commands.finetune import FINETUNE as FINETUNE
    from qmlir.tools.commands.inspect import INSPECT as INSPECT
    from qmlir.tools.commands.lsp import LSP as LSP
    from qmlir.tools.commands.new_dialect import NEW_DIALECT as NEW_DIALECT
    from qmlir.tools.commands.partition import PARTITION as PARTITION
    from qmlir.tools.commands.profile import PROFILE as PROFILE
    from qmlir.tools.commands.quantize import QUANTIZE as QUANTIZE
    from qmlir.tools.commands.report import REPORT as REPORT
    from qmlir.tools.commands.run import RUN as RUN
    from qmlir.tools.commands.search import SEARCH as SEARCH
    from qmlir.tools.commands.tune import TUNE as TUNE
else:
    __getattr__, __dir__ = attached(__name__)
