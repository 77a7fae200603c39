"""Models that people bring, taken through all of the product beside other runtimes: `make zoo`, `docs/models.md`.

`python -m benchmarks.zoo.make` makes the models and their samples, and needs the packages of the extra `zoo`.
`python -m benchmarks.zoo` takes them through quantizing, compiling, comparing and exporting, and needs qmlir and its
peers alone: the two may run in different environments.
"""
