"""Digests of the code of packages. Cache keys contain them, because different code can compile different programs."""

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from types import ModuleType
from weakref import WeakKeyDictionary

from qmlir.registry.package import UPSTREAM, Package, packages, plug_ins

_SUFFIXES = (".py", ".mlir")


def _sources(module: str) -> list[str]:
    """Returns the source files of a module or Python package: its Python files and the patterns that it ships."""
    spec = find_spec(module)
    if spec is None:
        return []
    folders = list(spec.submodule_search_locations or ())
    if folders or spec.origin is None:
        return sorted(
            os.path.join(folder, name)
            for top in folders
            for folder, _, names in os.walk(top)
            for name in names
            if name.endswith(_SUFFIXES)
        )
    return [spec.origin]


def _contents(module: str) -> Iterator[bytes]:
    """Yields the content of each source file, in order."""
    for path in _sources(module):
        # For hundreds of small files, allocating buffers would take as long as reading.
        with open(path, "rb", buffering=0) as file:
            yield file.readall()


@lru_cache(16)
def code_digest(packages: tuple[Package, ...]) -> str:
    """Returns a digest of the names, versions and source files of these packages."""
    found = hashlib.sha256()
    for package in packages:
        found.update(f"{package.name} {package.version}".encode())
        if package.name != UPSTREAM:  # the version identifies xDSL's code; packages may be in development
            for content in (content for module in sorted(package.modules) for content in _contents(module)):
                found.update(content)
    return found.hexdigest()


def sources_digest(modules: Iterable[str]) -> str:
    """Returns a digest of the sources of these modules and of all their submodules; skips missing modules."""
    found = hashlib.sha256()
    for module in sorted({*modules}):
        found.update(f"{module} ".encode())
        for content in _contents(module):
            found.update(content)
    return found.hexdigest()


_imported = WeakKeyDictionary[ModuleType, str]()
"""The digest of each module, computed at the first request, soon after its import."""


def plugged_code() -> str:
    """Returns a digest of the code of this run's plug-ins; empty if there are none.

    A process keeps the plug-in that it has loaded even if its files change, so the digest doesn't change either.
    """
    number = len(plug_ins())
    return _code_of(packages()[-number:]) if number else ""


@lru_cache(16)
def _code_of(plugged: tuple[Package, ...]) -> str:
    found = hashlib.sha256()
    for module in sorted({module for package in plugged for module in package.modules}):
        found.update(f"{module} {_loaded_code(module)} ".encode())
    return found.hexdigest()


def _loaded_code(name: str) -> str:
    module = sys.modules.get(name)
    if module is not None and module in _imported:
        return _imported[module]
    found = hashlib.sha256()
    for content in _contents(name):
        found.update(content)
    if module is not None:
        _imported[module] = found.hexdigest()
    return found.hexdigest()
