"""A model in training as a PyTorch module, for use with PyTorch's optimizers, losses, loaders and checkpoints.

    import qmlir.torch

    module = qmlir.torch.Module(qmlir.trainable(model, data))

Requires torch: `pip install 'qmlir[torch]'`. The forward and backward passes are compiled programs on the CPU.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.extensions.training.torch import Module as Module
else:
    __getattr__, __dir__ = attached(__name__)
