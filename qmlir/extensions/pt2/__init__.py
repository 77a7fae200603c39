"""The importer of PyTorch's exported programs (`.pt2`), written by `torch.export.save`; it doesn't need torch."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.pt2.archive import read_archive as read_archive
    from qmlir.extensions.pt2.importer import import_program as import_program
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(readers={".pt2": "qmlir.extensions.pt2.files:read"}, built_for=INTERFACE)
