"""Other runtimes: ONNX Runtime and OpenVINO, and models quantized by ONNX Runtime's tools.

Both runtimes are optional (`pip install 'qmlir[peers]'`) and imported on first use. `sessions` runs models with given
options, `quantizers` quantizes them, and `onnx_runtime` and `openvino` each wrap one package.
"""
