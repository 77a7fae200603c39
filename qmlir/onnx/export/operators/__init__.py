"""Exporters of `nn` operations to ONNX's operators, by family as in the `nn` dialect: each has a table `EXPORTERS`."""
