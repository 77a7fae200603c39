"""Choices and defaults that the help of commands shows: this module imports no compiler."""

OUTPUT = "report.html"
"""The page that `qmlir report` writes without `--output`."""

BY_MACS, BY_BYTES = "macs", "bytes"
SORTS = (BY_MACS, BY_BYTES)
"""The figures by which layers can be sorted, in decreasing order."""
