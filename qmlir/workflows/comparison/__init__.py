"""Comparing two subjects on data: how far the values of one are from those of the other, by the model's own names.

A subject (`subjects.Subject`) says which values it has (`names`, in the order of computation) and gives them as floats,
by key: `values(inputs)` has a tuple of arrays for each key, one for each step of an unrolled layer. Outputs have the
key `output:NAME`, inputs the port's name. `compare.compare` runs two of them sample by sample.
"""
