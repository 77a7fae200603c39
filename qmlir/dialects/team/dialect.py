"""The `team` dialect: explicit work sharing among threads, independent of the emitter."""

from xdsl.ir import Dialect

from qmlir.dialects import operations_in
from qmlir.dialects.team import ops

Team = Dialect("team", operations_in(ops), [])
