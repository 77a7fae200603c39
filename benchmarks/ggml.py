"""ggml and llama.cpp as peers, through `llama-cpp-python`: products of one row, and a token of a decoder."""

import ctypes
import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.contest import Run
from benchmarks.models import HEAD, Decoder

Array = npt.NDArray[Any]

TYPES = {"Q4_0": 2, "Q8_0": 8, "Q2_K": 10, "Q4_K": 12, "TQ2_0": 35}
"""The numbers of ggml's types of weights."""

_F32 = 0
_DRAWN = 8
"""Quantizing takes ggml seconds, so that an eighth of the rows is drawn and repeated."""

_POINTER, _SIZE, _LONG, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int


class _Memory(ctypes.Structure):
    _fields_ = (("size", _SIZE), ("buffer", _POINTER), ("no_alloc", ctypes.c_bool))


_BASE = {
    "ggml_init": (_POINTER, _Memory), "ggml_nbytes": (_SIZE, _POINTER), "ggml_row_size": (_SIZE, _INT, _LONG),
    "ggml_new_tensor_2d": (_POINTER, _POINTER, _INT, _LONG, _LONG),
    "ggml_mul_mat": (_POINTER, _POINTER, _POINTER, _POINTER), "ggml_new_graph": (_POINTER, _POINTER),
    "ggml_build_forward_expand": (None, _POINTER, _POINTER),
    "ggml_quantize_chunk": (_SIZE, _INT, _POINTER, _POINTER, _LONG, _LONG, _LONG, _POINTER),
    "ggml_backend_alloc_ctx_tensors_from_buft": (_POINTER, _POINTER, _POINTER),
    "ggml_free": (None, _POINTER), "ggml_backend_free": (None, _POINTER), "ggml_backend_buffer_free": (None, _POINTER),
    "ggml_backend_tensor_set": (None, _POINTER, _POINTER, _SIZE, _SIZE),
    "ggml_backend_tensor_get": (None, _POINTER, _POINTER, _SIZE, _SIZE),
    "ggml_backend_graph_compute": (_INT, _POINTER, _POINTER), "ggml_backend_cpu_buffer_type": (_POINTER,),
    "ggml_backend_dev_supports_op": (ctypes.c_bool, _POINTER, _POINTER),
    "ggml_backend_reg_dev_get": (_POINTER, _POINTER, _SIZE),
    "ggml_backend_reg_get_proc_address": (_POINTER, _POINTER, ctypes.c_char_p),
}  # fmt: skip
_CPU = {
    "ggml_backend_cpu_init": (_POINTER,), "ggml_backend_cpu_set_n_threads": (None, _POINTER, _INT),
    "ggml_backend_cpu_reg": (_POINTER,),
}  # fmt: skip
"""The result and the parameters of each function, by library."""


class _Library:
    """The functions of ggml, by name."""

    def __init__(self, folder: Path):
        for name, functions in (("ggml-base", _BASE), ("ggml-cpu", _CPU)):
            library = ctypes.CDLL(str(next(folder.glob(f"lib{name}.*"))), mode=ctypes.RTLD_GLOBAL)
            for function, (result, *parameters) in functions.items():
                found = getattr(library, function)
                found.restype, found.argtypes = result, parameters
                setattr(self, function, found)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@cache
def _library() -> _Library:
    spec = find_spec("llama_cpp")
    assert spec is not None
    assert spec.origin is not None
    return _Library(Path(spec.origin).parent / "lib")


@cache
def _weights(name: str, terms: int, channels: int) -> Array:
    """Random weights of a type, as bytes."""
    ggml, rows = _library(), channels // _DRAWN
    drawn = np.random.default_rng(0).standard_normal((rows, terms), np.float32) / np.float32(terms**0.5)
    held = np.empty((rows, ggml.ggml_row_size(TYPES[name], terms)), np.uint8)
    ggml.ggml_quantize_chunk(TYPES[name], drawn.ctypes.data, held.ctypes.data, 0, rows, terms, None)
    return np.tile(held, (_DRAWN, 1))


def _device() -> int:
    ggml = _library()
    return ggml.ggml_backend_reg_dev_get(ggml.ggml_backend_cpu_reg(), 0)


def _buffers() -> Iterator[tuple[str, int]]:
    """The kinds of memory for weights: as they are in files, and rearranged for the processor."""
    ggml = _library()
    yield "", ggml.ggml_backend_cpu_buffer_type()
    register = ggml.ggml_backend_cpu_reg()
    address = ggml.ggml_backend_reg_get_proc_address(register, b"ggml_backend_dev_get_extra_bufts")
    extra = ctypes.CFUNCTYPE(ctypes.POINTER(_POINTER), _POINTER)(address)(_device())
    if extra[0] is not None:
        yield " repacked", extra[0]


@contextmanager
def ggml_products(name: str, shapes: Sequence[tuple[int, int]], threads: int) -> Generator[Mapping[str, Run]]:
    """One row of f32 by matrices of `(terms, channels)` one after another, for each kind of memory.

    Nothing if `name` is empty, or `llama-cpp-python` isn't installed.
    """
    runs = dict[str, Run]()
    if not name or find_spec("llama_cpp") is None:
        yield runs
        return
    ggml = _library()
    with ExitStack() as stack:
        backend = ggml.ggml_backend_cpu_init()
        stack.callback(ggml.ggml_backend_free, backend)
        ggml.ggml_backend_cpu_set_n_threads(backend, threads)
        for kind, buffer in _buffers():
            held, work = (ggml.ggml_init(_Memory(1 << 22, None, True)) for _ in range(2))
            matrices = [ggml.ggml_new_tensor_2d(held, TYPES[name], *shape) for shape in shapes]
            first = value = ggml.ggml_new_tensor_2d(work, _F32, shapes[0][0], 1)
            for matrix in matrices:
                value = ggml.ggml_mul_mat(work, matrix, value)
            graph = ggml.ggml_new_graph(work)
            ggml.ggml_build_forward_expand(graph, value)
            for context, own in ((held, buffer), (work, ggml.ggml_backend_cpu_buffer_type())):
                memory = ggml.ggml_backend_alloc_ctx_tensors_from_buft(context, own)
                stack.callback(ggml.ggml_free, context)
                stack.callback(ggml.ggml_backend_buffer_free, memory)
            if not ggml.ggml_backend_dev_supports_op(_device(), value):  # the type has one arrangement only
                continue
            for matrix, shape in zip(matrices, shapes, strict=True):
                weights = _weights(name, *shape)
                ggml.ggml_backend_tensor_set(matrix, weights.ctypes.data, 0, weights.nbytes)
            x, result = (
                np.random.default_rng(1).standard_normal(shapes[0][0], np.float32),
                np.zeros(shapes[-1][1], "f4"),
            )
            ggml.ggml_backend_tensor_set(first, x.ctypes.data, 0, x.nbytes)
            runs[f"ggml {name}{kind}"] = run = partial(ggml.ggml_backend_graph_compute, backend, graph)
            run()
            ggml.ggml_backend_tensor_get(value, result.ctypes.data, 0, result.nbytes)
            assert np.isfinite(result).all()
            assert result.any()
        yield runs


def llama_token(name: str, decoder: Decoder, folder: Path) -> Mapping[str, Run]:
    """A token that fills the last row of llama.cpp's cache in f16, with and without its fused attention, on one thread.

    Its model has rotary positions besides. Nothing if `llama-cpp-python` or `gguf` isn't installed.
    """
    if find_spec("llama_cpp") is None or find_spec("gguf") is None:
        return {}
    llama = import_module("llama_cpp")
    logging.getLogger("llama-cpp-python").setLevel(logging.ERROR)
    path = folder / f"{name}.gguf"
    _write_decoder(name, decoder, path)
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = 0
    model = llama.llama_model_load_from_file(str(path).encode(), parameters)
    return {
        f"llama.cpp {name}{kind}": _token_run(llama, model, decoder, fused) for kind, fused in (("", 0), (" fused", 1))
    }


def _token_run(llama: Any, model: Any, decoder: Decoder, fused: int) -> Run:
    settings, last = llama.llama_context_default_params(), decoder.past - 1
    settings.n_ctx, settings.n_batch, settings.flash_attn_type = decoder.past, last, fused
    settings.n_threads = settings.n_threads_batch = 1
    context = llama.llama_init_from_model(model, settings)
    memory = llama.llama_get_memory(context)

    def decode(tokens: Sequence[int]) -> None:
        held = (ctypes.c_int32 * len(tokens))(*tokens)
        if llama.llama_decode(context, llama.llama_batch_get_one(held, len(tokens))):
            raise RuntimeError("llama.cpp failed to decode")

    def token() -> None:
        llama.llama_memory_seq_rm(memory, 0, last, -1)
        decode([7])

    decode(np.random.default_rng(0).integers(0, decoder.vocabulary, last).tolist())
    return token


def _write_decoder(name: str, decoder: Decoder, path: Path) -> None:
    """A model in GGUF with random weights of one type, and without a vocabulary of words."""
    gguf = import_module("gguf")
    width, writer = decoder.width, gguf.GGUFWriter(path, "llama")
    writer.add_context_length(decoder.past)
    writer.add_embedding_length(width)
    writer.add_block_count(decoder.layers)
    writer.add_feed_forward_length(decoder.hidden)
    writer.add_head_count(decoder.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HEAD)
    writer.add_vocab_size(decoder.vocabulary)
    writer.add_tokenizer_model("no_vocab")
    layer = {"attn_q": (width, width), "attn_k": (width, width), "attn_v": (width, width),
             "attn_output": (width, width), "ffn_gate": (width, decoder.hidden), "ffn_up": (width, decoder.hidden),
             "ffn_down": (decoder.hidden, width)}  # fmt: skip
    layers = range(decoder.layers)
    shapes = {f"blk.{number}.{part}": shape for number in layers for part, shape in layer.items()}
    shapes |= {"token_embd": (width, decoder.vocabulary), "output": (width, decoder.vocabulary)}
    for part, shape in shapes.items():
        weights = _weights(name, *shape)
        writer.add_tensor(f"{part}.weight", weights, raw_dtype=gguf.GGMLQuantizationType(TYPES[name]))
    for part in ("output_norm", *(f"blk.{number}.{kind}_norm" for number in layers for kind in ("attn", "ffn"))):
        writer.add_tensor(f"{part}.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
