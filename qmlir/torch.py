"""PyTorch: `export` imports a PyTorch module, and `Module` is a model in training as a PyTorch module.

    import qmlir.torch

    quantized = qmlir.quantize(qmlir.torch.export(model, example_inputs), data)
    module = qmlir.torch.Module(qmlir.trainable(quantized, data))

A `Module` works with PyTorch's optimizers, losses, loaders and checkpoints. Its forward and backward passes are
compiled programs on the CPU. Requires torch: `pip install 'qmlir[torch]'`.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.extensions.pt2.torch import export as export
    from qmlir.extensions.training.torch import Module as Module
else:
    __getattr__, __dir__ = attached(__name__)
