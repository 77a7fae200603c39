from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.text.printing import op_excerpt as op_excerpt
else:
    __getattr__, __dir__ = attached(__name__)
