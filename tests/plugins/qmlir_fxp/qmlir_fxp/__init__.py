"""A fixed-point accelerator as a target of qmlir, in a package of its own.

The device multiplies bytes with weights of 4 bits into sums of 24 bits, adds a bias of 16 bits, and rescales by shifts.
`dialect` has its instructions and the block that it computes at once, `passes` what takes a quantized module to them,
`patterns` sub-graphs as PDL text, `target` what it supports, `emit` the text of its programs.
"""
