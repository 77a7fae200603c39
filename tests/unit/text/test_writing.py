"""What is written for a user: which files are replaced, and what a killed run leaves.

The rules are stated here by hand: a run may change the file that it was told to write, files that the list of a folder
names with the digest that they have, and with `force` files of the names that it writes. Everything else stays.
"""

import hashlib
import json
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32

from qmlir.dialects.nn.constant.ops import ConstantOp
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.files import access, note_input, note_samples, plan_output
from qmlir.text.parsing import load_module
from qmlir.text.printing import PrintOptions, Weights, check_module_file, save_module
from qmlir.text.writing import (
    LIST,
    check_folder,
    check_whole,
    folder_result,
    folder_within,
    write_file,
    write_own,
)

SIDECAR = PrintOptions(weights=Weights.SIDECAR)


def _module(start: float = 0) -> ModuleOp:
    return ModuleOp([ConstantOp.of(np.arange(1024, dtype=np.float32) + start, TensorType(f32, [1024]))])


def _read(path: Path) -> str:
    return str(load_module(default_environment().new_context(), path))


def tree(folder: Path) -> dict[str, tuple[str, object]]:
    """Everything in a folder, links not followed."""

    def shown(path: Path) -> tuple[str, object]:
        if path.is_symlink():
            return "link", os.readlink(path)
        mode = path.lstat().st_mode
        return ("file", path.read_bytes()) if stat.S_ISREG(mode) else ("other", stat.S_IFMT(mode))

    return {path.relative_to(folder).as_posix(): shown(path) for path in sorted(folder.rglob("*"))}


# Single files


def test_a_file_keeps_its_mode_and_a_link_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write_file(link, b"after")
    assert (link.is_symlink(), link.read_bytes(), target.read_text()) == (False, b"after", "before")
    write_file(target, "after")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("after", 0o640)
    assert sorted(os.listdir(tmp_path)) == ["link", "target"]


def test_a_new_file_has_the_mode_that_others_get(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "written"
    plain.touch()
    write_file(written, "text")
    assert written.stat().st_mode == plain.stat().st_mode


def test_weights_go_into_the_text_where_no_file_can_stand_beside_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save_module(_module(), pipe, SIDECAR)
        assert b'dense<"0x' in os.read(reader, 1 << 16)
    finally:
        os.close(reader)


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "link"])
def test_descriptors_are_written_at_their_place(tmp_path: Path, name: str) -> None:
    """`>>` appends; nothing is created in `/dev`."""
    before = sorted(os.listdir("/dev"))
    (tmp_path / "link").symlink_to("/dev/stdout")
    log = tmp_path / "log"
    log.write_text("first\n")
    kept = os.dup(1)
    appended = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        os.dup2(appended, 1)
        write_file(tmp_path / name, "second\n")
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(appended)
    assert log.read_text() == "first\nsecond\n"
    assert sorted(os.listdir("/dev")) == before
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("kind", ["text", "link", "fifo", "folder", "edited", "tensors"])
def test_a_weights_file_is_replaced_only_if_the_module_there_names_it(tmp_path: Path, kind: str) -> None:
    path, beside, victim = tmp_path / "model.mlir", tmp_path / "model.safetensors", tmp_path / "victim"
    victim.write_text("precious")
    if kind in ("edited", "tensors"):
        save_module(_module(), path, SIDECAR)
        save_module(_module(1), path, SIDECAR)  # its own are replaced
        assert _read(path) == str(_module(1))
        save_module(_module(2), tmp_path / "other.mlir", SIDECAR)
        content = beside.read_bytes()
        beside.write_bytes(content[:-1] + b"\1" if kind == "edited" else (tmp_path / "other.safetensors").read_bytes())
    elif kind == "link":
        beside.symlink_to(victim)
    elif kind == "fifo":
        os.mkfifo(beside)
    elif kind == "folder":
        beside.mkdir()
    else:
        beside.write_text("a checkpoint")
    before = tree(tmp_path)
    for check in (lambda: check_module_file(path), lambda: save_module(_module(3), path, SIDECAR)):
        with pytest.raises(
            DiagnosticError, match=r"'.*model.safetensors'.* (already exists: .*--force|it is a folder)"
        ):
            check()
    assert tree(tmp_path) == before
    save_module(ModuleOp([]), path, SIDECAR)  # it has no weights, and replaces the file that was named
    if kind == "folder":
        return
    with access(force=True):
        save_module(_module(3), path, SIDECAR)
    assert _read(path) == str(_module(3))
    assert victim.read_text() == "precious"


# Inputs


@pytest.mark.parametrize("way", ["itself", "dots", "link", "hard link", "folder link"])
def test_an_input_is_never_written(tmp_path: Path, way: str) -> None:
    model = tmp_path / "model.mlir"
    model.write_text("precious")
    (tmp_path / "d").mkdir()
    (tmp_path / "here").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(model)
    os.link(model, tmp_path / "hard")
    ways = {
        "itself": model, "dots": tmp_path / "d" / ".." / "model.mlir", "link": tmp_path / "link",
        "hard link": tmp_path / "hard", "folder link": tmp_path / "here" / "model.mlir",
    }  # fmt: skip
    output = ways[way]
    before = tree(tmp_path)
    for force in (False, True):
        with access(force=force):
            note_input(model)
            for write in (plan_output, lambda path: write_file(path, "new"), lambda path: write_own(path, "new")):
                with pytest.raises(DiagnosticError, match="it is an input of this run"):
                    write(output)
            with pytest.raises(DiagnosticError, match="it is an input"):
                _install(output.parent, {output.name: "new"})
        with access(force=force):
            plan_output(output)  # the output is known first
            with pytest.raises(DiagnosticError, match="it is an input of this run"):
                note_input(model)
    assert tree(tmp_path) == before


def test_nothing_is_written_into_a_folder_of_samples(tmp_path: Path) -> None:
    samples = tmp_path / "samples"
    (samples / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(samples)
    (samples / "out").symlink_to(tmp_path)
    before = tree(tmp_path)
    with access(force=True):
        note_samples(samples)
        for output in (samples, samples / "q", samples / "deep" / "q", tmp_path / "link" / "q", samples / "out"):
            with pytest.raises(DiagnosticError, match="it is in the folder of samples"):
                plan_output(output)
        with pytest.raises(DiagnosticError, match="in the folder of samples"):
            _install(tmp_path, {"samples/q": "new"})
        plan_output(tmp_path / "samples2")
        with pytest.raises(DiagnosticError, match=r"the run writes '.*samples2' there"):
            plan_output(tmp_path / "samples" / ".." / "samples2")
    assert tree(tmp_path) == before


def test_folders_are_not_made_through_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").symlink_to(tmp_path)
    with pytest.raises(DiagnosticError, match=r"cannot write to '.*a/b': it is a symbolic link"):
        folder_within(tmp_path, "a", "b", "c")


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_files_of_qmlir_alone_are_plain_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.part"
    (tmp_path / "victim").write_text("precious")
    {
        "link": lambda: path.symlink_to(tmp_path / "victim"), "fifo": lambda: os.mkfifo(path), "folder": path.mkdir
    }[kind]()  # fmt: skip
    before = tree(tmp_path)
    with pytest.raises(DiagnosticError, match="it is a symbolic link, or not a regular file; remove it"):
        write_own(path, "new")
    assert tree(tmp_path) == before


# Folders

OLD = {"summary.json": "old", "a.txt": "old a", "same.txt": "same", "sub/stale.txt": "old stale"}
NEW = {"summary.json": "new", "a.txt": "new a", "same.txt": "same", "sub/new.txt": "new b"}


def put(folder: Path, files: Mapping[str, str], *, force: bool = False) -> None:
    with access(force=force):
        _install(folder, files)


def _install(folder: Path, files: Mapping[str, str]) -> None:
    with folder_result(folder, ["summary.json"]) as made:
        made.mkdir()
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {name: str(bytes(found).decode()) for name, (kind, found) in tree(folder).items() if kind == "file"}


def test_a_result_replaces_the_one_before_and_nothing_else(tmp_path: Path) -> None:
    put(tmp_path / "q", OLD)
    mine = {"notes.txt": "mine", "sub/deep/plot.csv": "1", ".git/HEAD": "ref"}
    for name, text in mine.items():
        (tmp_path / "q" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "q" / name).write_text(text)
    put(tmp_path / "q", NEW)
    found = contents(tmp_path / "q")
    assert json.loads(found.pop(LIST))["files"] == {
        name: hashlib.sha256(text.encode()).hexdigest() for name, text in NEW.items()
    }
    assert found == {**NEW, **mine}
    assert os.listdir(tmp_path) == ["q"]


@pytest.mark.parametrize(
    "kind", ["unlisted", "edited", "link", "fifo", "folder", "link above", "file above", "no list"]
)
def test_a_file_in_the_way_stops_the_run(tmp_path: Path, kind: str) -> None:
    folder, victim = tmp_path / "q", tmp_path / "victim"
    put(folder, {} if kind == "unlisted" else OLD)
    victim.mkdir()
    (victim / "new.txt").write_text("precious")
    path = folder / "a.txt"
    path.unlink(missing_ok=True)
    if kind in ("unlisted", "edited"):
        path.write_text("mine")
    elif kind == "link":
        path.symlink_to(victim / "new.txt")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "no list":
        (folder / LIST).write_text("mine")
    else:
        (folder / "sub" / "stale.txt").unlink()
        (folder / "sub").rmdir()
        if kind == "link above":
            (folder / "sub").symlink_to(victim)
        else:
            (folder / "sub").write_text("mine")
    before = tree(tmp_path)
    never = kind in ("folder", "link above", "file above")
    message = (
        "is not a folder; move it|it is a folder" if never else r"'.*q/(a.txt|\.qmlir-files.json)' already exists: "
    )
    with pytest.raises(DiagnosticError, match=message):
        put(folder, NEW)
    assert tree(tmp_path) == before
    with pytest.raises(DiagnosticError, match=message):
        check_folder(folder, NEW)
    if never:
        with pytest.raises(DiagnosticError, match=message):
            put(folder, NEW, force=True)
        assert tree(tmp_path) == before
        return
    put(folder, NEW, force=True)
    assert {name: text for name, text in contents(folder).items() if name in NEW} == NEW
    assert contents(victim) == {"new.txt": "precious"}
    put(folder, NEW)


def test_what_is_stale_is_removed_only_as_it_was_written(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    (tmp_path / "sub" / "stale.txt").write_text("edited")
    put(tmp_path, NEW)
    assert contents(tmp_path)["sub/stale.txt"] == "edited"
    assert "sub/stale.txt" not in json.loads((tmp_path / LIST).read_text())["files"]


def test_a_stale_file_that_is_an_input_stays(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    with access():
        note_input(tmp_path / "sub" / "stale.txt")
        put(tmp_path, NEW)
    assert contents(tmp_path)["sub/stale.txt"] == "old stale"
    put(tmp_path, NEW)
    assert not (tmp_path / "sub" / "stale.txt").exists()


@pytest.mark.parametrize("name", ["../victim", "/etc/hostname", "a/../../victim", "link/victim", "", "a//b", "\0"])
def test_a_hostile_list_leads_nowhere(tmp_path: Path, name: str) -> None:
    folder, victim = tmp_path / "q", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("precious")
    (folder / "link").symlink_to(tmp_path)
    digest = hashlib.sha256(b"precious").hexdigest()
    for replaced in ({}, {"replaced": {name: digest}}):
        (folder / LIST).write_text(
            json.dumps({"format": "qmlir-files", "version": 1, "files": {name: digest}, **replaced})
        )
        put(folder, NEW, force=True)
        assert victim.read_text() == "precious"
        assert Path("/etc/hostname").exists() or not name.startswith("/")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "qmlir-files", "version": 1, "files": {"a.txt": 1}}', "[" * 100_000, "nan", "\0"],
)
def test_a_damaged_list_is_in_the_way(tmp_path: Path, text: str) -> None:
    (tmp_path / LIST).write_text(text)
    with pytest.raises(DiagnosticError, match="already exists: it is not a file list of qmlir"):
        put(tmp_path, NEW)
    assert contents(tmp_path) == {LIST: text}
    check_whole(tmp_path)


@pytest.mark.parametrize("seed", range(60))
def test_random_folders(tmp_path: Path, seed: int) -> None:
    """Results over random trees with older results, edits, links, pipes and folders."""
    rng = random.Random(seed)
    folder, victim = tmp_path / "q", tmp_path / "victim"
    victim.write_text("precious")
    names = ["summary.json", "a.txt", "b.txt", "sub/a.txt", "sub/b.txt", "sub/deep/c.txt", "d.txt"]

    def result() -> dict[str, str]:
        return {name: rng.choice("xyz") for name in names if rng.random() < 0.6} | {"summary.json": rng.choice("xyz")}

    for _ in range(rng.randrange(3)):
        put(folder, result(), force=True)
    for name in names:
        path = folder / name
        if rng.random() < 0.7 or any(each.is_symlink() or each.is_file() for each in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            continue
        path.unlink(missing_ok=True)
        make: list[Callable[[], object]] = [
            lambda path=path: path.write_text("mine"), lambda path=path: path.symlink_to(victim),
            lambda path=path: os.mkfifo(path), lambda path=path: path.mkdir(), lambda: None,
        ]  # fmt: skip
        rng.choice(make)()
    for number in range(rng.randrange(4)):
        folder.mkdir(exist_ok=True)
        (folder / f"other{number}").write_text("mine")
    before, listed = tree(tmp_path), _listed(folder)
    new, force = result(), rng.random() < 0.3
    try:
        put(folder, new, force=force)
    except DiagnosticError:
        assert tree(tmp_path) == before
        return
    after = tree(tmp_path)
    assert {name: after[f"q/{name}"] for name in new} == {name: ("file", new[name].encode()) for name in new}
    for name, found in before.items():
        relative = name.removeprefix("q/")
        is_ours = found[0] == "file" and relative in listed and _sha(found[1]) == listed[relative]
        if relative == LIST or is_ours or (force and relative in new):
            assert relative in new or relative == LIST or name not in after
        else:
            assert after.get(name) == found, name


def _sha(content: object) -> str:
    assert isinstance(content, bytes)
    return hashlib.sha256(content).hexdigest()


def _listed(folder: Path) -> Mapping[str, str]:
    path = folder / LIST
    return json.loads(path.read_text())["files"] if path.is_file() else {}


# Killed runs

_CHANGES = (
    "open",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.chmod",
    "os.truncate",
    "os.link",
    "shutil.rmtree",
)


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Do `work` in a child that ends at its change number `step` of the file system; return True if it came so far."""
    child = os.fork()
    if child == 0:
        left = [step]

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event not in _CHANGES or (event == "open" and not _writes(arguments)):
                return
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), 9)

        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


@pytest.mark.parametrize("start", ["nothing", "empty", "files of the user", "old", "edited, with force", "killed"])
def test_a_run_that_is_killed_leaves_one_result_or_none(tmp_path: Path, start: str) -> None:
    """At every change of the file system: the old result, the new one, or a line that says what to do."""
    step, states = 0, set[str]()
    while True:
        folder = tmp_path / str(step) / "q"
        folder.parent.mkdir()
        (folder.parent / ".q.old").write_text("mine")
        mine = {}
        if start != "nothing":
            folder.mkdir()
        if start not in ("nothing", "empty"):
            (folder / "notes.txt").write_text("mine")
            mine = {"notes.txt": "mine"}
        if start in ("old", "edited, with force", "killed"):
            put(folder, OLD)
        if start.startswith("edited"):
            (folder / "a.txt").write_text("edited")
        if start == "killed":
            assert killed_at(9, lambda folder=folder: put(folder, {**OLD, "a.txt": "between", "b.txt": "between"}))
        was_killed = killed_at(step, lambda folder=folder: put(folder, NEW, force=start.startswith("edited")))
        states.add(_state(folder, mine))
        assert (folder.parent / ".q.old").read_text() == "mine"
        put(folder, NEW, force=start.startswith("edited"))  # elsewhere it needs no force
        assert _state(folder, mine) == "new"
        step += 1
        if not was_killed:
            break
    assert step > 5
    assert "new" in states
    assert states <= {"new", "old", "none", "rejected"}


def _said(work: Callable[[], object]) -> str | None:
    """The error that `work` ends with."""
    try:
        work()
    except DiagnosticError as error:
        return str(error)
    return None


def _state(folder: Path, mine: Mapping[str, str]) -> str:
    if not folder.exists():
        return "none"
    found = contents(folder)
    assert {name: found.get(name) for name in mine} == mine
    if (said := _said(lambda: check_whole(folder))) is not None:
        assert "is incomplete: the command that wrote it was interrupted; run it again" in said
        # What is there is of one result alone, for readers that do not ask.
        found = {name: text.replace("edited", "old a") for name, text in found.items()}
        known = [{name: text for name, text in found.items() if name in each} for each in (OLD, NEW)]
        return (
            "rejected"
            if any(each.items() <= full.items() for each, full in zip(known, (OLD, NEW), strict=True))
            or "between" in found.values()
            else "mixture"
        )
    if "summary.json" not in found:
        return "none"
    which = found["summary.json"]
    expected = NEW if which == "new" else OLD
    edited = {"a.txt": "edited"} if found.get("a.txt") == "edited" else {}
    assert {name: found.get(name) for name in expected} == {**expected, **edited}
    return which


@pytest.mark.parametrize("is_there", [False, True])
def test_a_module_whose_writing_is_killed(tmp_path: Path, is_there: bool) -> None:
    """The old module, the new one, or a line that says what to do; the run after it needs no force."""
    old, new = _module(0), _module(1)
    found = set[str]()
    for step in range(100):
        path = tmp_path / str(step) / "m.mlir"
        path.parent.mkdir()
        if is_there:
            save_module(old, path, SIDECAR)
        was_killed = killed_at(step, lambda path=path: save_module(new, path, SIDECAR))
        said = _said(lambda path=path: _read(path)) if path.exists() else None
        assert said is None or "interrupted while it wrote the file: run that command again" in said
        if not path.exists():
            found.add("none")
        else:
            found.add("rejected" if said else {str(old): "old", str(new): "new"}[_read(path)])
        save_module(new, path, SIDECAR)
        assert _read(path) == str(new)
        if not was_killed:
            break
    assert found == {"old" if is_there else "none", "new", "rejected"}
    assert step > 5


_WRITER = """
import sys, time
from pathlib import Path
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.text.writing import Derived, folder_result, write_with_derived
here, which = Path(sys.argv[1]), sys.argv[2].encode()
for run in range(20):
    with folder_result(here / "out", ["summary.json"]) as made:
        made.mkdir()
        for name in ["a.txt", "b.txt", which.decode(), "summary.json"]:
            (made / name).write_bytes(which)
    derived = Derived(here / "w", lambda content: True)
    write_with_derived(here / "m", which, derived, [which])
"""


def test_two_runs_that_write_into_one_folder_leave_one_whole_result(tmp_path: Path) -> None:
    """Both write the same names with another content 20 times; at each time the files are of one run."""
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), which]) for which in ("one", "two")]
    assert [writer.wait() for writer in writers] == [0, 0]
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir() if path.name != LIST}
    (which,) = set(found.values())
    assert set(found) == {"a.txt", "b.txt", which, "summary.json"}
    check_whole(tmp_path / "out")
    listed = json.loads((tmp_path / "out" / LIST).read_text())
    digest = hashlib.sha256(which.encode()).hexdigest()
    assert listed["files"] == dict.fromkeys(found, digest)
    assert "replaced" not in listed
    assert (tmp_path / "m").read_text() == (tmp_path / "w").read_text()
    assert not [path for path in tmp_path.rglob(".qmlir-*") if path.name != LIST]
