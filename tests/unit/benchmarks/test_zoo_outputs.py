"""What workers answer with: arrays as a process has them, and nothing that cannot be read back."""

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from benchmarks.zoo import outputs


@pytest.mark.parametrize("dtype", [">f4", "<f4", "int8", "bool", ml_dtypes.bfloat16])
def test_arrays_come_back(dtype: Any) -> None:
    sent = {"y": np.arange(6).reshape(2, 3).astype(dtype), "none": np.empty((0, 2), dtype), "one": np.array(1, dtype)}
    content = outputs._packed([sent, sent])
    assert outputs._is_answer(({}, {}), content)
    assert not outputs._is_answer(({},), content)
    for found in outputs._unpacked(content):
        assert list(found) == list(sent)
        for name, array in found.items():
            assert array.dtype == sent[name].dtype.newbyteorder("=")
            assert array.flags.writeable
            assert np.array_equal(array, sent[name])


@pytest.mark.parametrize(
    "head",
    [
        [[["y", "O", [1]]]],
        [[["y", "int8", [-1, -8]]]],
        [[["y", "int8", [8.0]]]],
        [[[1, "int8", [8]]]],
        [[["y", "int8", [7]]]],
        [[["y", "no type", [8]]]],
        [[["y", "int8"]]],
        [],
        "y",
    ],
)
def test_what_is_no_answer(head: Any) -> None:
    assert not outputs._is_answer(({},), json.dumps(head).encode() + b"\n" + bytes(8))


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff\n"])
def test_damaged_bytes(content: bytes) -> None:
    assert not outputs._is_answer(({},), content)
