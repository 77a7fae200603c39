"""The store of tuned schedules: the user's alone, beside the cache, and a part of what programs are kept under."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.extensions.search.tuned import TunedKernel, Tuning, read_store, store_path, tuned_for, write_store
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu import cache
from qmlir.targets.cpu.cache import UNTUNED
from qmlir.targets.cpu.compiler import program_key

FASTER = TunedKernel("a conv", "#kernel.schedule<…>", "#kernel.schedule<>", 1e-6, 2e-6, 5)
KERNELS = {FASTER.key: FASTER}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "deep" / "cache"))
    return store_path("generic", 1)


def _build(folder: Path) -> None:
    (folder / "kernels.py").write_text("number = 1\n")


def _no_trouble(message: str) -> None:
    raise AssertionError(message)


def test_each_target_has_a_file_of_its_own(path: Path) -> None:
    assert len({path, store_path("generic", 2), store_path("avx2", 1)}) == 3


def test_what_is_kept_is_the_users_alone(path: Path) -> None:
    assert read_store(path, _no_trouble) == Tuning({})
    write_store(path, KERNELS)
    assert read_store(path, _no_trouble) == Tuning(KERNELS)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    found = tuned_for("generic", 1, _no_trouble)
    assert (found.path, bool(found.digest)) == (str(path), True)
    assert tuned_for("avx2", 1, _no_trouble) == UNTUNED


@pytest.mark.parametrize("mode", [0o644, 0o620])
def test_a_file_that_others_share_is_told_and_left_out(path: Path, mode: int) -> None:
    write_store(path, KERNELS)
    path.chmod(mode)
    told: list[str] = []
    assert read_store(path, told.append) == Tuning({})
    assert len(told) == 1
    assert "can be read or written by others" in told[0]
    write_store(path, KERNELS)  # a search writes it anew, for the user alone
    assert path.stat().st_mode & 0o777 == 0o600


def test_damage_is_told_and_left_out(path: Path) -> None:
    write_store(path, KERNELS)
    path.write_text(path.read_text().replace("2e-06", "3e-06"))
    told: list[str] = []
    assert tuned_for("generic", 1, told.append) == UNTUNED
    path.write_text("{")
    assert tuned_for("generic", 1, told.append) == UNTUNED
    assert told[0] == f"'{path}': 1 damaged entry is left out"
    assert told[1].startswith(f"'{path}' does not contain tuned schedules: ")


def test_a_store_that_cannot_be_written_is_one_line(path: Path) -> None:
    path.parent.parent.parent.mkdir()
    path.parent.parent.write_text("a file")
    with pytest.raises(DiagnosticError, match="cannot save tuned schedules in '") as error:
        write_store(path, KERNELS)
    assert "\n" not in str(error.value)


def test_the_cache_that_is_full_keeps_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(path, KERNELS)
    monkeypatch.setenv(cache.SIZE_VARIABLE, "0")
    for key in ("first", "second"):
        cache.entry(key, _build, _no_trouble)
    assert sorted(each.name for each in cache.cache_directory().iterdir()) == ["second", cache.TUNED]
    assert read_store(path, _no_trouble) == Tuning(KERNELS)


def test_programs_are_kept_by_the_schedules_that_they_are_made_of(module: ModuleOp) -> None:
    assert program_key(module, "generic", 1) != program_key(module, "generic", 1, "some")


def test_a_damaged_store_does_not_stop_a_compile(path: Path, module: ModuleOp) -> None:
    write_store(path, {})
    path.write_text("{")
    with pytest.warns(RuntimeWarning, match="does not contain tuned schedules"):
        qmlir.compile(module, isa="generic")
    qmlir.compile(module, isa="generic", tuned=False)
