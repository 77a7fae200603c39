"""Importers of ONNX's operators, by family as in the `nn` dialect: each module has a table `IMPORTERS`."""
