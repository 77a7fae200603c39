"""Other runtimes: ONNX Runtime and OpenVINO.

Both are optional (`pip install 'qmlir[peers]'`) and imported on first use. `onnx_runtime` wraps ONNX Runtime, and
`islands` runs the parts of a program that only another runtime can compute.
"""
