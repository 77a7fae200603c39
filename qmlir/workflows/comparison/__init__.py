"""Comparison of two subjects on data: the errors of their values, identified by the names of the model.

A subject (`subjects.Subject`) lists its values (`names`, in the order of computation) and computes them as floats:
`values(inputs)` maps each key to a tuple of arrays, one for each step of an unrolled layer. Outputs have the key
`output:NAME`, inputs that of the port. `compare.compare` runs two subjects sample by sample.
"""
