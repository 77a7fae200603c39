"""ONNX's operators by family, as in the `nn` dialect: each module has tables `IMPORTERS` and `EXPORTERS`."""
