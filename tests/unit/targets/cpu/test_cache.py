"""The disk cache: an entry is whole, its owner's alone and what was built, or it is built anew."""

import errno
import json
import multiprocessing
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from qmlir.ir.diagnostics import DiagnosticError
from qmlir.targets.cpu import cache

KEY = "0123abcd"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is not there yet."""
    path = tmp_path / "deep" / "cache"
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(path))
    return path


class Builder:
    """Builds an entry of a few files, and counts."""

    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.count = 0

    def __call__(self, folder: Path) -> None:
        self.count += 1
        (folder / "kernels.py").write_text(f"number = {self.count}\n")
        (folder / "runtime").mkdir()
        (folder / "runtime" / "code.bin").write_bytes(bytes(self.size))


def _no_trouble(message: str) -> None:
    raise AssertionError(message)


def test_an_entry_is_built_once(directory: Path) -> None:
    build = Builder()
    first = cache.entry(KEY, build, _no_trouble)
    second = cache.entry(KEY, build, _no_trouble)
    assert (first.is_new, second.is_new, build.count) == (True, False, 1)
    assert first.folder == second.folder == directory / KEY
    assert [path.name for path in directory.iterdir()] == [KEY]


def test_the_cache_is_its_owners_alone(directory: Path) -> None:
    folder = cache.entry(KEY, Builder(), _no_trouble).folder
    assert directory.stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_mode & 0o777 == 0o700


def _truncate(folder: Path) -> None:
    (folder / "runtime" / "code.bin").write_bytes(b"")


def _edit(folder: Path) -> None:
    (folder / "kernels.py").write_text("number = 7\n")


def _remove(folder: Path) -> None:
    (folder / "kernels.py").unlink()


def _add(folder: Path) -> None:
    (folder / "runtime" / "more.py").write_text("")


def _forget(folder: Path) -> None:
    (folder / cache.MANIFEST).unlink()


def _empty_manifest(folder: Path) -> None:
    (folder / cache.MANIFEST).write_text("")


def _foreign_manifest(folder: Path) -> None:
    (folder / cache.MANIFEST).write_text(json.dumps(["kernels.py"]))


def _open_to_others(folder: Path) -> None:
    folder.chmod(0o755)


def _open_to_the_group(folder: Path) -> None:
    folder.chmod(0o720)


def _nested_manifest(folder: Path) -> None:
    (folder / cache.MANIFEST).write_text("[" * 100_000)


def _of_another_key(folder: Path) -> None:
    """A whole entry under the name of another: its manifest tells."""
    other = cache.entry("another", Builder(20), _no_trouble).folder
    folder.rename(folder.with_name("aside"))
    other.rename(folder)


def _pipe(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    os.mkfifo(path, 0o600)


def _link(folder: Path) -> None:
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.symlink_to(aside, target_is_directory=True)


@pytest.mark.parametrize(
    "damage",
    [
        _truncate, _edit, _remove, _add, _forget, _empty_manifest, _foreign_manifest, _open_to_others,
        _open_to_the_group, _link, _nested_manifest, _of_another_key, _pipe,
        lambda folder: _pipe(folder / "kernels.py"), lambda folder: _pipe(folder / cache.MANIFEST),
    ],
)  # fmt: skip
def test_what_was_touched_is_built_anew(directory: Path, damage: Callable[[Path], None]) -> None:
    build = Builder()
    damage(cache.entry(KEY, build, _no_trouble).folder)
    found = cache.entry(KEY, build, _no_trouble)
    assert (found.is_new, found.is_kept, build.count) == (True, True, 2)
    assert (found.folder / "kernels.py").read_text() == "number = 2\n"
    assert not cache.entry(KEY, build, _no_trouble).is_new


def test_what_another_user_owns_is_built_anew(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder()
    folder = cache.entry(KEY, build, _no_trouble).folder
    stranger = os.geteuid() + 1
    assert cache.is_intact(folder)
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    assert not cache.is_intact(folder)


@pytest.mark.parametrize("mode", [0o722, 0o702, 0o777])
def test_a_folder_that_others_may_write_is_no_cache(directory: Path, mode: int) -> None:
    """Not even for what is there: it could be exchanged after it was looked at."""
    build, told = Builder(), list[str]()
    cache.entry(KEY, build, _no_trouble)
    directory.chmod(mode)
    found = cache.entry(KEY, build, told.append)
    assert (found.is_new, found.is_kept, build.count) == (True, False, 2)
    assert "it belongs to another user or is writable by others" in told[0]


def test_a_folder_of_another_user_is_no_cache(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir(parents=True)
    stranger = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    build, told = Builder(), list[str]()
    assert not cache.entry(KEY, build, told.append).is_kept
    assert build.count == 1  # it was refused before anything was built
    assert "it belongs to another user" in told[0]


def test_what_cannot_be_taken_away_is_refused_before_anything_is_built(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir(mode=0o700, parents=True)
    monkeypatch.setattr(cache, "_MOST_PLACES", 2)
    for name in (KEY, f"{KEY}-1"):
        (directory / name).write_text("mine")
    build, told = Builder(), list[str]()
    assert not cache.entry(KEY, build, told.append).is_kept
    assert (build.count, len(told)) == (1, 1)
    assert "already exist with other contents" in told[0]


@pytest.mark.parametrize("position", ["file", "below a file", "pipe"])
def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    if position == "pipe":
        _pipe(file)
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(file / "cache" if position == "below a file" else file))
    build, told = Builder(), list[str]()
    found = cache.entry(KEY, build, told.append)
    assert (found.is_new, found.is_kept) == (True, False)
    assert (found.folder / "kernels.py").is_file()
    (message,) = told
    assert "cannot be written" in message
    assert "\n" not in message


def test_no_space_left(directory: Path) -> None:
    """The disk of the cache is full: the entry lies elsewhere, and nothing is left in the cache."""

    def build(folder: Path) -> None:
        (folder / "kernels.py").write_text("half")
        if folder.parent.parent == directory:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told = list[str]()
    found = cache.entry(KEY, build, told.append)
    assert not found.is_kept
    (message,) = told
    assert message == (
        f"the cache {directory} cannot be written: No space left on device; the program is kept for this process"
    )
    assert not list(directory.iterdir())


def test_no_space_left_anywhere(directory: Path) -> None:
    def build(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DiagnosticError, match=r"cannot write a folder for the compiled program: .*No space left"):
        cache.entry(KEY, build, lambda message: None)


def test_an_error_of_the_build_leaves_nothing(directory: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "kernels.py").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.entry(KEY, build, _no_trouble)
    assert not list(directory.iterdir())


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for variable in (cache.DIRECTORY_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    told = list[str]()
    assert not cache.entry(KEY, Builder(), told.append).is_kept
    assert cache.DIRECTORY_VARIABLE in told[0]


def test_the_longest_unused_entries_go(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.SIZE_VARIABLE, "1")
    part = 400 << 10
    for number, key in enumerate(("a", "b")):
        folder = cache.entry(key, Builder(part), _no_trouble).folder
        os.utime(folder, (number, number))
    cache.entry("a", Builder(part), _no_trouble)  # used again
    cache.entry("c", Builder(part), _no_trouble)
    assert sorted(path.name for path in directory.iterdir()) == ["a", "c"]


def test_a_process_counts_the_bytes_of_an_entry_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who makes many programs would otherwise look through the files of all of them for each one more."""
    looked, files_of = Counter[str](), cache._files  # pyright: ignore[reportPrivateUsage]

    def files(folder: Path) -> dict[str, Path]:
        looked[folder.name] += 1
        return files_of(folder)

    monkeypatch.setattr(cache, "_files", files)
    for key in "abcde":
        cache.entry(key, Builder(), _no_trouble)
    assert {path.name: looked[path.name] for path in directory.iterdir()} == dict.fromkeys("abcde", 1)


def test_an_entry_above_the_limit_is_kept_alone(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.SIZE_VARIABLE, "1")
    cache.entry("small", Builder(), _no_trouble)
    assert cache.entry("large", Builder(2 << 20), _no_trouble).is_kept
    assert [path.name for path in directory.iterdir()] == ["large"]


def test_what_a_killed_process_left_goes_after_a_day(directory: Path) -> None:
    directory.mkdir(parents=True)
    old, new = directory / "building-old", directory / "building-new"
    unmarked, open_to_others = directory / "building-mine", directory / "building-open"
    for folder in (old, new, unmarked, open_to_others):
        (folder / "entry" / "runtime").mkdir(parents=True)
        folder.chmod(0o755 if folder == open_to_others else 0o700)
        if folder != unmarked:
            (folder / "building.json").write_text("{}")
    for folder in (old, unmarked, open_to_others):
        os.utime(folder, (time.time() - 2 * 24 * 3600,) * 2)
    cache.entry(KEY, Builder(), _no_trouble)
    assert sorted(path.name for path in directory.iterdir()) == [KEY, "building-mine", "building-new", "building-open"]


def _manifest_of(folder: Path, key: str, *names: str) -> None:
    folder.mkdir(parents=True)
    (folder / cache.MANIFEST).write_text(json.dumps({"key": key, "files": dict.fromkeys(names, "0" * 64)}))


def _snapshot(folder: Path) -> dict[str, str]:
    """Everything below a folder: the content of files, the target of links."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "folder"
    return found


def test_other_files_in_its_folder_are_never_touched(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they are called and hold: a folder in use may be the cache, and somebody may have prepared it."""
    monkeypatch.setenv(cache.SIZE_VARIABLE, "0")
    hexadecimal = "ab" * 32
    outside = directory.parent / "outside"
    outside.mkdir(parents=True)
    (outside / "thesis.tex").write_text("years of work")
    (directory / ".git").mkdir(parents=True)
    (directory / ".git" / "HEAD").write_text("ref")
    (directory / "note.txt").write_text("note")
    (directory / hexadecimal).mkdir()
    (directory / hexadecimal / "photo.jpg").write_text("photo")
    (directory / ("cd" * 32)).symlink_to(outside)
    (directory / "building-link").symlink_to(outside)
    (directory / KEY).symlink_to(outside)
    _manifest_of(directory / "other", "another key", "manifest.json")
    _manifest_of(directory / "up", "up", "../note.txt", "../.git/HEAD", str(outside / "thesis.tex"), "..", ".", "")
    _manifest_of(directory / "nul", "nul", "a\0b")
    _manifest_of(directory / "bare", "bare", "photo.jpg/../../note.txt")
    _manifest_of(directory / "listed", "listed", "inner/thesis.tex", "kernels.py")
    (directory / "listed" / "inner").symlink_to(outside)
    (directory / "listed" / "kernels.py").write_text("an entry that somebody prepared")
    (directory / "listed" / "mine.txt").write_text("not listed")
    for folder in directory.iterdir():
        os.utime(folder, (0, 0), follow_symlinks=False)
    before = _snapshot(directory.parent)
    directory.chmod(0o755)
    for key in (KEY, "ef" * 32, "up", "listed", "note.txt"):
        assert cache.entry(key, Builder(), _no_trouble).is_kept
    after = _snapshot(directory.parent)
    removed = {f"cache/listed/{name}" for name in ("kernels.py", cache.MANIFEST)}
    assert {name: after.get(name) for name in before.keys() - removed} == {
        name: content for name, content in before.items() if name not in removed
    }
    assert cache.size_used() == sum(
        path.stat().st_size for path in (directory / "note.txt-1").rglob("*") if path.name in ("kernels.py", "code.bin")
    )


def test_a_link_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir(mode=0o700)
    link.symlink_to(folder)
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(link))
    told = list[str]()
    assert not cache.entry(KEY, Builder(), told.append).is_kept
    assert "it is a link" in told[0]
    assert not list(folder.iterdir())


def _build_slowly(folder: Path) -> None:
    Builder()(folder)
    time.sleep(0.3)


def _build_in_process(numbers: "multiprocessing.Queue[tuple[str, bool]]") -> None:
    found = cache.entry(KEY, _build_slowly, _no_trouble)
    numbers.put((str(found.folder), cache.is_intact(found.folder)))


def test_processes_that_build_the_same_entry(directory: Path) -> None:
    context = multiprocessing.get_context("fork")
    found: multiprocessing.Queue[tuple[str, bool]] = context.Queue()
    processes = [context.Process(target=_build_in_process, args=(found,)) for _ in range(3)]
    for process in processes:
        process.start()
    results = [found.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert results == [(str(directory / KEY), True)] * 3
    assert [path.name for path in directory.iterdir()] == [KEY]


def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cache.DIRECTORY_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_directory() == tmp_path / "qmlir"
    monkeypatch.setenv(cache.DIRECTORY_VARIABLE, str(tmp_path / "own"))
    assert cache.cache_directory() == tmp_path / "own"


@pytest.mark.parametrize("size", ["2GB", "-1", "1.5", "many"])
def test_a_size_that_is_no_number(directory: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv(cache.SIZE_VARIABLE, size)
    build = Builder()
    with pytest.raises(
        DiagnosticError,
        match=rf"QMLIR_CACHE_SIZE must be a number of MiB \(example: {cache.DEFAULT_MEBIBYTES}\), but got '{size}'",
    ):
        cache.entry(KEY, build, _no_trouble)
    assert build.count == 0


@pytest.mark.parametrize("size", ["", " 7 "])
def test_a_size_with_spaces_or_none(directory: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv(cache.SIZE_VARIABLE, size)
    assert cache.size_limit() == (7 << 20 if size else 2 << 30)
    assert cache.entry(KEY, Builder(), _no_trouble).folder.is_dir()
