"""qmlir: a multi-dialect quantizing compiler for neural networks."""
