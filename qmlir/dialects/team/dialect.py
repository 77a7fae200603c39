"""The `team` dialect: what the threads of a team do together, said in the IR so that no emitter decides it."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.team import ops

Team = Dialect("team", operations_in(ops), [])
