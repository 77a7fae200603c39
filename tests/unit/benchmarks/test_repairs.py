"""Rows of layers without a model: what codes gain over the nearest ones, beside what the spectrum allows."""

import sys

import pytest

from benchmarks import repairs


# The eigenvalues i^-1.5 of 288 terms have a mean 9.8 dB above their geometric one.
def test_codes_gain_what_a_spectrum_allows() -> None:
    rows = {row.what: row for row in repairs.by_spectrum(1.5)}
    limit = rows.pop("noise against nearest, one code after the other: the limit")
    assert limit.figure == pytest.approx(-9.84, abs=0.01)
    against = {what: row for what, row in rows.items() if what.endswith("noise against nearest")}
    assert len(against) == 3
    assert all(row.verdict == "met" and row.figure > limit.figure for row in against.values())
    for what, row in against.items():
        products = rows[what.replace("noise against nearest", "products")].figure
        assert products == pytest.approx(rows["nearest: products"].figure - row.figure)


def test_a_model_without_images_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["repairs", "model.onnx"])
    with pytest.raises(SystemExit):
        repairs.main()
    assert "each model has an archive of images, one after the other; --spectra takes none" in capsys.readouterr().err
