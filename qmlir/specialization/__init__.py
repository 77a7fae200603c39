"""Specialization: replaces dynamic sizes with static ones and runtime parameters with constants.

Proofs of batches and padding are imported on first use: a program with static shapes needs neither.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.specialization.batch import dynamic_axes as dynamic_axes
    from qmlir.specialization.batch import mark_batch as mark_batch
    from qmlir.specialization.batch import proof_of as proof_of
    from qmlir.specialization.inputs import function_of as function_of
    from qmlir.specialization.inputs import signature_text as signature_text
    from qmlir.specialization.padding import outline as outline
else:
    __getattr__, __dir__ = attached(__name__)
