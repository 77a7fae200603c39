"""The `target` dialect: what the targets of a module accept and keep, as each says of itself, and who computes what."""

from xdsl.ir import Dialect

from qmlir.dialects.target.attributes import TargetSpecAttr

Target = Dialect("target", [], [TargetSpecAttr])
