"""ONNX operators, grouped like the `nn` dialect; each module has the tables `IMPORTERS` and `EXPORTERS`."""
