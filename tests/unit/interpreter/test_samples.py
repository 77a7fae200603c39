"""What people have as samples: each kind gives the statistics of the plain array, or says in a line what to do."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import qmlir
from qmlir.environment import default_environment
from qmlir.interpreter.datasets import Preprocessed
from qmlir.interpreter.samples import Samples
from qmlir.ir.diagnostics import Diagnostic, DiagnosticError, diagnostic_handler
from qmlir.specialization.inputs import function_of
from qmlir.text.parsing import parse_module
from qmlir.workflows.profiling import profile

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 2, 3, 4)).astype(np.float32)
LABELS = np.arange(6)

TEXT = """
func.func @main(%x: tensor<?x2x3x4xf32> {nn.name = "image"}) -> tensor<?x2x3x4xf32> {
  %0 = nn.relu %x : tensor<?x2x3x4xf32> {origin = "relu"}
  func.return %0 : tensor<?x2x3x4xf32>
}
"""

TOKENS = """
func.func @main(%ids: tensor<?x2xi64> {nn.name = "ids"}, %mask: tensor<?x2xi1> {nn.name = "mask"},
                %x: tensor<?x2xf16> {nn.name = "x"}) -> tensor<?x2xf16> {
  func.return %x : tensor<?x2xf16>
}
"""


def module_of(text: str) -> ModuleOp:
    return parse_module(default_environment().new_context(), text)


def runs_of(data: Any, text: str = TEXT) -> tuple[list[tuple[np.ndarray, ...]], list[str]]:
    """The arguments of all runs, and what was said."""
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        found = [run.arguments for run in Samples(function_of(module_of(text), "main"), data)]
    return found, [each.message for each in said]


def images_of(data: Any) -> tuple[np.ndarray, list[str]]:
    runs, said = runs_of(data)
    return np.concatenate([image for (image,) in runs]), said


class Tensor:
    """A tensor as torch has it: with a gradient, on a device, and no array of NumPy before both are left."""

    def __init__(self, array: np.ndarray, plain: bool = False) -> None:
        self._array, self._plain = array, plain

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return Tensor(self._array, plain=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if not self._plain:
            raise TypeError("can't convert a tensor of a device")
        return self._array

    def __len__(self) -> int:
        return len(self._array)


class Dataset:
    """A Dataset of torch: pairs by place, without an iterator, and without an end that indexing tells."""

    def __len__(self) -> int:
        return len(IMAGES)

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        return Tensor(IMAGES[position % len(IMAGES)]), int(LABELS[position % len(IMAGES)])


class DataLoader:
    """A DataLoader of torch: lists of batches of inputs and of labels."""

    dataset = Dataset()

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[list[Tensor]]:
        for part in (slice(0, 4), slice(4, 6)):
            yield [Tensor(IMAGES[part]), Tensor(LABELS[part])]


class Reader:
    """A CalibrationDataReader of ONNX Runtime."""

    def __init__(self) -> None:
        self._left = iter(IMAGES)

    def get_next(self) -> dict[str, np.ndarray] | None:
        image = next(self._left, None)
        return None if image is None else {"image": image[None]}


class InferenceData:
    """A Dataset of NNCF."""

    def get_inference_data(self) -> Iterator[np.ndarray]:
        return iter(IMAGES)


LABEL = "ignoring the last element of each sample (assumed to be its label)"

KINDS: dict[str, tuple[Callable[[], Any], int | None, list[str]]] = {
    "array": (lambda: IMAGES, 6, []),
    "tensor": (lambda: Tensor(IMAGES), 6, []),
    "nested list": (lambda: [image.tolist() for image in IMAGES.astype(float)], 6, ["float64"]),
    "list": (lambda: list(IMAGES), 6, []),
    "list of batches": (lambda: [IMAGES[:4], IMAGES[4:]], 8, []),
    "list of tensors": (lambda: list(map(Tensor, IMAGES)), 6, []),
    "list of dicts": (lambda: [{"image": image} for image in IMAGES], 6, []),
    "list of dicts and labels": (lambda: [({"image": image}, 3) for image in IMAGES], 6, [LABEL]),
    "generator": (lambda: iter(IMAGES), None, []),
    "generator function": (lambda: lambda: iter(IMAGES), None, []),
    "arrays and labels": (lambda: (IMAGES, LABELS), 6, [LABEL]),
    "pairs": (lambda: list(zip(IMAGES, LABELS, strict=True)), 6, [LABEL]),
    "dict with labels": (
        lambda: {"image": IMAGES, "y": LABELS},
        6,
        ["ignoring array 'y' in the data"],
    ),
    "Dataset": (Dataset, 6, [LABEL]),
    "DataLoader": (DataLoader, 6, [LABEL]),
    "CalibrationDataReader": (Reader, None, []),
    "nncf.Dataset": (InferenceData, None, []),
    "f64": (lambda: IMAGES.astype(np.float64), 6, ["converting input 'image' from float64 to float32"]),
    "f16": (lambda: IMAGES.astype(np.float16), 6, ["converting input 'image' from float16 to float32"]),
    "u8": (
        lambda: list(IMAGES.astype(np.uint8)),
        6,
        ["converting input 'image' from uint8 to float32; its values stay 0 to 255"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_samples(kind: str) -> None:
    make, total, expected = KINDS[kind]
    found, said = images_of(make())
    assert (found.dtype, np.array_equal(found, IMAGES)) == (np.float32, True)
    assert len(said) == len(expected)
    assert all(part in text for part, text in zip(expected, said, strict=True))
    assert Samples(function_of(module_of(TEXT), "main"), make()).total == total


BATCH_OF_ONE = TEXT.replace("?x2", "1x2")


def test_many_images_for_a_batch_of_one() -> None:
    runs, said = runs_of(IMAGES, BATCH_OF_ONE)
    assert (len(runs), said) == (6, [])
    assert all(run[0].shape == (1, 2, 3, 4) for run in runs)


REMEDIES = [
    (IMAGES.transpose(0, 2, 3, 1), "array.transpose(0, 3, 1, 2) (the model expects channels first)"),
    (IMAGES[0].transpose(1, 2, 0)[None], "array.transpose(0, 3, 1, 2) (the model expects channels first)"),
    ([IMAGES[0].transpose(1, 2, 0)], "array.transpose(2, 0, 1) (the model expects channels first)"),
    ([IMAGES.transpose(0, 2, 3, 1)], "array.transpose(0, 3, 1, 2) (the model expects channels first)"),
    (IMAGES[0], "array[None] (it is one sample)"),
    (IMAGES.reshape(6, 24), "array.reshape(-1, 2, 3, 4)"),
    ([IMAGES[0].reshape(-1)], "array.reshape(2, 3, 4)"),
]


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("sizes", [[4, 2], [2, 4], [6], [5, 1], [1, 1, 4], [1, 2, 3], [2, 1, 2, 1], [3, 1, 2]])
def test_batches_of_another_size_than_the_model(batch: int, sizes: list[int]) -> None:
    """As a DataLoader gives them: the runs are those of the plain array."""
    text = TEXT.replace("?x2x3x4", f"{batch}x2x3x4")
    items = np.split(IMAGES, np.cumsum(sizes)[:-1])
    for data in (items, [(item, LABELS[: len(item)]) for item in items]):
        runs, _ = runs_of(data, text)
        assert [image.shape[0] for (image,) in runs] == [batch] * (6 // batch)
        np.testing.assert_array_equal(np.concatenate([image for (image,) in runs]), IMAGES)


# The largest of the rows of a sequence: of 10 rows that are cut from two sequences of 7 it is that of neither.
SEQUENCE = """
func.func @main(%x: tensor<10x2xf32> {nn.name = "x"}) -> tensor<1x2xf32> {
  %0 = nn.reduce_max %x {axes = [0]} : (tensor<10x2xf32>) -> tensor<1x2xf32> {origin = "largest"}
  func.return %0 : tensor<1x2xf32>
}
"""


def test_sequences_of_another_length_than_the_model_are_not_cut_and_joined() -> None:
    lengths = [np.zeros((rows, 2), np.float32) for rows in (7, 7, 7, 7)]
    refused = "shape 10x2, but got 7x2, .*reduce_max.*; help: pass arrays of shape 10x2, or all"
    with pytest.raises(DiagnosticError, match=refused):
        runs_of(lengths, SEQUENCE)
    with pytest.raises(DiagnosticError, match=refused):
        profile(module_of(SEQUENCE), lengths)
    runs, _ = runs_of([np.zeros((10, 2), np.float32)] * 3, SEQUENCE)
    assert [x.shape for (x,) in runs] == [(10, 2)] * 3


def test_batches_of_another_size_are_profiled() -> None:
    """Observers are no reason why rows may have to do with each other."""
    module = module_of(TEXT.replace("?x2x3x4", "4x2x3x4"))
    assert profile(module, [IMAGES[:3], IMAGES[3:], IMAGES[:2]]).samples == 8


@pytest.mark.parametrize(("data", "remedy"), REMEDIES)
def test_a_shape_that_does_not_fit_comes_with_what_makes_it_fit(data: Any, remedy: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        runs_of(data)
    assert caught.value.diagnostic.message.endswith(f"; help: pass {remedy}")
    array = data if isinstance(data, np.ndarray) else data[0]
    fitting = eval(remedy.partition(" (")[0], {"array": array})
    found, _ = images_of(fitting if isinstance(data, np.ndarray) else [fitting])
    assert np.array_equal(found, IMAGES[: len(found)])  # what is said to be typed is right


REFUSED: list[tuple[Any, str]] = [
    (IMAGES[:, :, :2], "input 'image' must have shape 2x3x4 (one sample) or ?x2x3x4 (a batch), but got 2x2x4"),
    (IMAGES.astype(np.int64), "but got int64; help: pass array.astype('float32') if that keeps the values"),
    (
        IMAGES.astype(complex),
        "input 'image' must be float32, but got complex128; help: pass array.astype('float32') if that",
    ),
    ({"imag": IMAGES, "y": LABELS}, "has no input 'imag'; did you mean 'image'? (available: image ?x2x3x4 float32)"),
    (3, "data must be a path, an array, a dict of arrays, or an iterable of these, but got int"),
    ([(IMAGES[0], 1, 2)], "takes 1 input (image ?x2x3x4 float32), but got 3"),
    ("gone", "cannot read 'gone': No such file or directory"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_what_does_not_fit_is_one_line(data: Any, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        runs_of(data)
    assert message in caught.value.diagnostic.message
    assert "\n" not in str(caught.value)


IDS, MASK, X = np.array([[1, 2], [3, 4]]), np.array([[1, 0], [1, 1]]), np.array([[1, 2], [3, 4]], np.float16)


def test_several_inputs() -> None:
    expected = [(IDS[:1], MASK[:1] != 0, X[:1]), (IDS[1:], MASK[1:] != 0, X[1:])]
    bools = MASK != 0
    kinds = [
        {"ids": IDS, "mask": bools, "x": X},
        (IDS, bools, X),
        (IDS, bools, X, np.zeros(2)),
        [((IDS, bools, X), np.zeros(2))],
        [({"ids": IDS, "mask": bools, "x": X, "token_type_ids": IDS}, np.zeros(2))],
        (IDS.astype(np.int32), bools, X.astype(np.float32)),
    ]
    for data in kinds:
        found, _ = runs_of(data, TOKENS)
        for run, wanted in zip(found, expected, strict=True):
            assert [each.dtype for each in run] == [np.int64, np.int8, np.float16]
            assert all(np.array_equal(one, other) for one, other in zip(run, wanted, strict=True))


def test_numbers_that_no_conversion_keeps() -> None:
    for data, message in (
        (
            (IDS.astype(np.uint64) + 2**63, MASK != 0, X),
            "input 'ids' must be int64, but got uint64 with values out of the range of int64",
        ),
        (
            (IDS, MASK != 0, X.astype(np.float64) * 1e6),
            "input 'x' must be float16, but got float64 with values too large for",
        ),
        (
            (IDS.astype(float), MASK != 0, X),
            "but got float64; help: pass array.astype('int64') if that keeps the values",
        ),
    ):
        with pytest.raises(DiagnosticError, match=message.replace("(", r"\(").replace(")", r"\)")):
            runs_of(data, TOKENS)


def test_a_warning_is_given_once_however_often_the_data_is_gone_over() -> None:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        for _ in range(3):
            qmlir.profile(module_of(TEXT), IMAGES.astype(np.float64))
    assert len(said) == 1


# Preprocessing


def test_a_function_makes_the_input_of_each_item(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", raw=IMAGES * 2, y=LABELS)
    np.save(tmp_path / "one.npy", IMAGES * 2)
    kinds: list[tuple[Any, Callable[[Any], Any]]] = [
        (IMAGES * 2, lambda row: row / 2),
        (tmp_path / "one.npy", lambda row: row / 2),
        (tmp_path / "both.npz", lambda rows: rows["raw"] / 2),
        (DataLoader(), lambda pair: {"image": np.asarray(pair[0].cpu())}),
    ]
    for data, function in kinds:
        found, said = images_of(Preprocessed(data, function))
        assert (np.array_equal(found, IMAGES), said) == (True, [])


PREP = """
import numpy as np
def halved(row):
    return row / 2
def failing(row):
    return row.gone
number = 3
"""


def test_a_function_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prep_of_a_user.py").write_text(PREP)
    monkeypatch.chdir(tmp_path)
    found, _ = images_of(Preprocessed(IMAGES * 2, "prep_of_a_user.py:halved"))
    monkeypatch.syspath_prepend(tmp_path)
    again, _ = images_of(Preprocessed(IMAGES * 2, "prep_of_a_user:halved"))
    sys.modules.pop("prep_of_a_user")
    assert np.array_equal(found, IMAGES)
    assert np.array_equal(again, IMAGES)
    for name, message in (
        ("halved", "'halved' does not name a function; use package.module:function or file.py:function"),
        (
            "gone:halved",
            "ModuleNotFoundError: No module named 'gone' (of a file that is not installed: file.py:function)",
        ),
        ("prep_of_a_user:gone", "module 'prep_of_a_user' has no attribute 'gone'"),
        ("prep_of_a_user:number", "--preprocess 'prep_of_a_user:number' must be a function, but got int"),
        ("prep_of_a_user:failing", "preprocessing function 'prep_of_a_user:failing' failed on item 0: AttributeError"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            images_of(Preprocessed(IMAGES, name))
        assert message in caught.value.diagnostic.message


def test_a_folder_of_images(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="images are read by Pillow")
    pictures = np.random.default_rng(1).integers(0, 256, (3, 3, 4, 3), np.uint8)
    for position, picture in enumerate(pictures):
        folder = tmp_path / "images" / ("cat" if position < 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        image.fromarray(picture).save(folder / f"{position}.png")
    with pytest.raises(
        DiagnosticError,
        match="to a model input without a preprocessing function; help: pass --preprocess MODULE:FUNCTION",
    ):
        images_of(tmp_path / "images")

    def two_channels(opened: Any) -> np.ndarray:
        assert opened.mode == "RGB"
        return np.asarray(opened, np.float32).transpose(2, 0, 1)[:2]

    found, _ = images_of(Preprocessed(tmp_path / "images", two_channels))
    assert np.array_equal(found, pictures.transpose(0, 3, 1, 2)[:, :2])
    image.new("1", (12_000, 12_000)).save(tmp_path / "images" / "a.png")
    with pytest.raises(DiagnosticError, match=r"cannot read the image '.*a.png': its size in memory is .*576000000"):
        images_of(Preprocessed(tmp_path / "images", two_channels))
    (tmp_path / "images" / "a.png").unlink()
    (tmp_path / "images" / "a.jpg").write_bytes(b"no image")
    with pytest.raises(DiagnosticError, match=r"cannot read the image '.*a.jpg'"):
        images_of(Preprocessed(tmp_path / "images", two_channels))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DiagnosticError, match=r"contains no .npy or .npz files and no images \(.bmp, .gif, .jpeg,"):
        images_of(tmp_path / "empty")


def test_files_that_are_mistaken_for_arrays(tmp_path: Path) -> None:
    (tmp_path / "samples.npz").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    with pytest.raises(
        DiagnosticError, match="it is a pointer of Git LFS, in place of the file: 'git lfs pull' fetches"
    ):
        images_of(tmp_path / "samples.npz")


IMAGE = """func.func @main(%x: tensor<?x1x8x8xf32> {nn.name = "x"}) -> tensor<?x1x8x8xf32> {
  %0 = nn.log %x : tensor<?x1x8x8xf32> {origin = "l"}
  func.return %0 : tensor<?x1x8x8xf32>
}"""


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((1257, 8, 8), r"input 'x' must have shape 1x8x8 \(one sample\) or \?x1x8x8 \(a batch\),"),
        ((1, 8, 8), r"input 'x' must have shape 1x8x8 \(one sample\) or \?x1x8x8 \(a batch\),"),
    ],
)
def test_the_axis_that_is_missing(shape: tuple[int, ...], hint: str) -> None:
    with pytest.raises(DiagnosticError, match=hint):
        qmlir.profile(parse_module(default_environment().new_context(), IMAGE), np.ones(shape, np.float32))


def test_infinities_of_an_input_are_named_where_they_make_nan() -> None:
    difference = "nn.sub %x, %x : (tensor<?x1x8x8xf32>, tensor<?x1x8x8xf32>) -> tensor<?x1x8x8xf32>"
    text = IMAGE.replace("nn.log %x : tensor<?x1x8x8xf32>", difference)
    x = np.ones((4, 1, 8, 8), np.float32)
    x[2, 0, 3, 3] = np.inf
    with pytest.raises(
        DiagnosticError, match=r"at sample 2: .* 1 of 64 are NaN .*; the input 'x' has infinities there"
    ):
        qmlir.profile(parse_module(default_environment().new_context(), text), x)


def test_text_is_read_from_files_as_numpy_holds_it(tmp_path: Path) -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (string[N] t, float[N, 2] x) => (string[N] u, float[N, 2] y) '
        "{ u = Identity (t) y = Relu (x) }"
    )
    x = np.ones((3, 2), np.float32)
    np.savez(tmp_path / "text.npz", t=np.array(["a", "bb", "c"]), x=x)
    assert qmlir.profile(qmlir.load(model), tmp_path / "text.npz").samples == 3
    with pytest.raises(DiagnosticError, match=r"no data for input t \? text; help: pass an array with that name"):
        qmlir.profile(qmlir.load(model), {"x": x})
    with pytest.raises(DiagnosticError, match="input 't' must be text, but got float32"):
        qmlir.profile(qmlir.load(model), {"t": x[:, 0], "x": x})
