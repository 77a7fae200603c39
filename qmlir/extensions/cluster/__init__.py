"""Calibration, search and tuning on the workers of a Dask cluster."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(services={"cluster": "qmlir.extensions.cluster.dask:dask_workers"}, built_for=INTERFACE)
