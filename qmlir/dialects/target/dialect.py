"""The `target` dialect: what the targets of a module accept and keep, and which target computes which function."""

from xdsl.ir import Dialect

from qmlir.dialects.target.attributes import TargetSpecAttr

Target = Dialect("target", [], [TargetSpecAttr])
