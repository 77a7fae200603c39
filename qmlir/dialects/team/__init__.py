"""The `team` dialect: what the threads of a team do together, said in the IR so that no emitter decides it."""

from xdsl.ir import Dialect

from qmlir.dialects.team.ops import OPERATIONS

Team = Dialect("team", list(OPERATIONS), [])
