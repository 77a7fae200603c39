"""Work on other machines: who calibrates and measures where a cluster is named.

`opening` finds the workers that a cluster has, `traits` says what the bits of their answers may depend on, and
`dask_workers` wraps Dask, which is optional (`pip install 'qmlir[cluster]'`).
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.workflows.cluster.dask_workers import DaskWorkers as DaskWorkers
else:
    __getattr__, __dir__ = attached(__name__)
