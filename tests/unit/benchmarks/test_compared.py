"""The models of the tables of integers, and how elements that differ are counted."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchmarks.compared import MINILM, add_models, compared_models, differing_elements


def test_elements_with_other_bits_are_counted() -> None:
    """Of every sample and output; 0 and -0 differ, a NaN is what it is by its bits."""
    zeros, bytes_ = np.array([0.0, np.nan, 1.0], np.float32), np.array([1, 2], np.int8)
    negative = np.array([-0.0, np.nan, 1.0], np.float32)
    assert differing_elements([[zeros, bytes_]] * 2, [[zeros, bytes_]] * 2) == (0, 10)
    assert differing_elements([[zeros, bytes_], [negative, bytes_ + 1]], [[zeros, bytes_]] * 2) == (3, 10)
    with pytest.raises(ValueError, match="is longer"):
        differing_elements([[zeros]], [[zeros, bytes_]])


def test_a_model_that_is_not_there_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_models(parser)
    assert list(compared_models(parser.parse_args(["--model", MINILM, "--zoo", str(tmp_path)]))) == []
    expected = f"minilm: not run, it is not there: python -m benchmarks.zoo.make minilm --folder {tmp_path}\n"
    assert capsys.readouterr().err == expected
