"""The code of packages, in one word: other code makes other programs, and gives other answers."""

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
    """The files of a package that takes part: Python, and the patterns that it ships."""
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
    """What these files hold, in order."""
    for path in _sources(module):
        # Of hundreds of small files, buffers would take as long as reading.
        with open(path, "rb", buffering=0) as file:
            yield file.readall()


@lru_cache(16)
def code_digest(packages: tuple[Package, ...]) -> str:
    """A digest of the code of these packages."""
    found = hashlib.sha256()
    for package in packages:
        found.update(f"{package.name} {package.version}".encode())
        if package.name != UPSTREAM:  # a version of it is one code, what is developed here may be any
            for content in (content for module in sorted(package.modules) for content in _contents(module)):
                found.update(content)
    return found.hexdigest()


def sources_digest(modules: Iterable[str]) -> str:
    """A digest of the sources of these modules, of packages those of everything in them; what is not there has none."""
    found = hashlib.sha256()
    for module in sorted({*modules}):
        found.update(f"{module} ".encode())
        for content in _contents(module):
            found.update(content)
    return found.hexdigest()


_imported = WeakKeyDictionary[ModuleType, str]()
"""The digest of each module as it was when it was asked for first, soon after its import."""


def plugged_code() -> str:
    """A digest of the code that the plug-ins of this run are loaded from; empty where there are none.

    A process that has loaded a plug-in goes on with what it has, whatever happens to the files: so does the digest.
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
