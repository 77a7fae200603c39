"""Warm starts: a program in the cache runs without the modules that a cold start needs.

A cold start imports these modules on first use.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.workflows.compiling import compile as compile
    from qmlir.workflows.loading import load as load
else:
    __getattr__, __dir__ = attached(__name__)
