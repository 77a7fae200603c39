"""Other runtimes beside ours: ONNX Runtime and OpenVINO, and models quantized by ONNX Runtime's own tools.

Both are optional (`pip install 'qmlir[peers]'`). What is imported of them is imported here, when it is first asked for.
`sessions` runs models with stated options, `quantizers` makes quantized ones, `onnx_runtime` and `openvino` wrap one
package each.
"""
