"""The `target` dialect: attributes that describe the targets of a module and assign functions to them."""

from xdsl.ir import Dialect

from qmlir.dialects.target.attributes import TargetSpecAttr

Target = Dialect("target", [], [TargetSpecAttr])
