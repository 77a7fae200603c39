"""Other runtimes: ONNX Runtime and OpenVINO, and models quantized by ONNX Runtime's tools.

Both are optional (`pip install 'qmlir[peers]'`) and imported here on first use. `sessions` runs models with given
options, `quantizers` quantizes them, and `onnx_runtime` and `openvino` wrap one package each.
"""
