# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Models of PyTorch with random weights, exported as its users do: one row of `TORCH_MODELS` each.

Batch normalizations take their statistics from a few batches in training mode, so that activations neither die nor
grow. Inputs are smooth random images and sequences: neighbours are alike, as in what sensors give.
"""

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
import torchvision
from onnx import ModelProto, TensorProto, helper
from torch import nn

from benchmarks.zoo.architectures import Conformer, DiffusionBlock, KeywordSpotter, Tcn, UNet, VaeDecoder, Yolo
from benchmarks.zoo.made import Made

_CALIBRATING, _JUDGED = 16, 8


def smooth(shape: Sequence[int], generator: np.random.Generator) -> np.ndarray:
    """Random numbers of about mean 0 and deviation 1, of which neighbours on the last two axes are alike."""
    found = 0.3 * generator.standard_normal(shape)
    for size in (4, 16):
        coarse = generator.standard_normal((*shape[:-2], -(-shape[-2] // size), -(-shape[-1] // size)))
        fine = coarse.repeat(size, -2).repeat(size, -1)[..., : shape[-2], : shape[-1]]
        found = found + 0.65 * fine
    return found.astype(np.float32)


Draw = Callable[[np.random.Generator], dict[str, np.ndarray]]


def _smooth(*shape: int) -> Draw:
    return lambda generator: {"input": smooth(shape, generator)}


def _diffusion(generator: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "sample": generator.standard_normal((1, 160, 16, 16)).astype(np.float32),
        "timestep": generator.uniform(0, 1000, (1,)).astype(np.float32),
        "text": generator.standard_normal((1, 77, 256)).astype(np.float32),
    }


def _latents(generator: np.random.Generator) -> dict[str, np.ndarray]:
    return {"input": smooth((1, 4, 16, 16), generator)}


def _with_head(model: nn.Module, head: nn.Linear) -> nn.Module:
    """torchvision starts this head at zero, for training: a fixed scale instead."""
    nn.init.normal_(head.weight, std=head.in_features**-0.5)
    return model


def _vit() -> nn.Module:
    model = torchvision.models.VisionTransformer(224, 16, 12, 6, 384, 1536)  # ViT-S/16
    return _with_head(model, model.heads.head)


def _convnext() -> nn.Module:
    model = torchvision.models.convnext_tiny()
    for name, parameter in model.named_parameters():
        if name.endswith("layer_scale"):  # 1e-6 at the start of training
            nn.init.uniform_(parameter, 0.05, 0.5)
    return model


class _Deeplab(nn.Module):
    """The main output of torchvision's segmentation model."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=21
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)["out"]


@dataclass(frozen=True)
class TorchModel:
    """One row: what builds the module, what draws its inputs, and how it is exported."""

    build: Callable[[], nn.Module]
    draw: Draw
    source: str
    dynamo: bool = True
    """Whether `torch.export` traces it, PyTorch's default since 2.9; otherwise TorchScript does."""

    dtype: torch.dtype = torch.float32
    opset: int = 18
    finish: Callable[[ModelProto], ModelProto] = lambda model: model
    """Adds nodes, as tools of deployment do."""


def with_suppression(model: ModelProto) -> ModelProto:
    """A detector of boxes and scores with NonMaxSuppression at its end, and the boxes that it takes."""
    boxes, scores = (each.name for each in model.graph.output)
    half = np.array([0.5], np.float32)
    limits = {"most": np.array([20]), "overlap": half, "least": half, "third": np.array([2])}
    for name, array in limits.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, f"nms/{name}"))
    taken = [boxes, scores, *(f"nms/{name}" for name in ("most", "overlap", "least"))]
    nodes = (
        helper.make_node("NonMaxSuppression", taken, ["taken"], "nms"),
        helper.make_node("Gather", ["taken", "nms/third"], ["nms/column"], "nms/gather", axis=1),
        helper.make_node("Squeeze", ["nms/column"], ["nms/places"], "nms/squeeze"),
        helper.make_node("Gather", [boxes, "nms/places"], ["taken_boxes"], "nms/boxes", axis=1),
    )
    model.graph.node.extend(nodes)
    model.graph.output.append(helper.make_tensor_value_info("taken", TensorProto.INT64, ["found", 3]))
    model.graph.output.append(helper.make_tensor_value_info("taken_boxes", TensorProto.FLOAT, [1, "found", 4]))
    return model


_VISION = "torchvision, random weights"
_OWN = "PyTorch, random weights"
_V = torchvision.models

TORCH_MODELS: Mapping[str, TorchModel] = {
    "resnet18": TorchModel(_V.resnet18, _smooth(1, 3, 224, 224), _VISION),
    "resnet18_f16": TorchModel(_V.resnet18, _smooth(1, 3, 224, 224), f"{_VISION}, float16", dtype=torch.float16),
    "mobilenet_v3_small": TorchModel(_V.mobilenet_v3_small, _smooth(1, 3, 224, 224), _VISION),
    "efficientnet_b0": TorchModel(_V.efficientnet_b0, _smooth(1, 3, 224, 224), _VISION),
    "convnext_tiny": TorchModel(_convnext, _smooth(1, 3, 224, 224), _VISION),
    "vit_s16": TorchModel(_vit, _smooth(1, 3, 224, 224), _VISION),
    "swin_t": TorchModel(_V.swin_t, _smooth(1, 3, 224, 224), _VISION),
    "deeplabv3_mobilenet": TorchModel(_Deeplab, _smooth(1, 3, 224, 224), _VISION),
    "unet": TorchModel(UNet, _smooth(1, 3, 128, 128), _OWN, dynamo=False),
    "yolo": TorchModel(Yolo, _smooth(1, 3, 256, 256), _OWN),
    "yolo_nms": TorchModel(Yolo, _smooth(1, 3, 256, 256), f"{_OWN}, NonMaxSuppression added", finish=with_suppression),
    "vae_decoder": TorchModel(VaeDecoder, _latents, _OWN),
    "diffusion_block": TorchModel(DiffusionBlock, _diffusion, _OWN),
    "conformer": TorchModel(Conformer, _smooth(1, 200, 80), _OWN),
    "tcn": TorchModel(Tcn, _smooth(1, 40, 100), _OWN),
    "tcn_f64": TorchModel(Tcn, _smooth(1, 40, 100), f"{_OWN}, float64", dtype=torch.float64),
    "tcn_bf16": TorchModel(Tcn, _smooth(1, 40, 100), f"{_OWN}, bfloat16", dtype=torch.bfloat16, opset=22),
    "gru_keywords": TorchModel(KeywordSpotter, _smooth(1, 50, 40), _OWN, dynamo=False),
}
"""The models by the name of their row."""


def _warm(module: nn.Module, draw: Draw, generator: np.random.Generator) -> None:
    """Give batch normalizations the statistics of a few batches, each as if it were the only one."""
    norms = [each for each in module.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = None  # the mean over all batches
        norm.train()
    for _ in range(4 if norms else 0):
        draws = [draw(generator) for _ in range(4)]
        module(*(torch.from_numpy(np.concatenate([each[name] for each in draws])) for name in draws[0]))
    for norm in norms:
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias, std=0.1)
        norm.eval()


def exported(
    module: nn.Module,
    inputs: Mapping[str, np.ndarray],
    dtype: torch.dtype = torch.float32,
    *,
    dynamo: bool = True,
    opset: int = 18,
) -> ModelProto:
    """The ONNX model that PyTorch writes; inputs of floats, and the module, in floats of `dtype`."""
    given = [torch.from_numpy(array) for array in inputs.values()]
    arguments = tuple(each.to(dtype) if each.is_floating_point() else each for each in given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dynamo:
            program: Any = torch.onnx.export(
                module.to(dtype), arguments, input_names=list(inputs), opset_version=opset, dynamo=True, verbose=False
            )
            return program.model_proto
        file: Any = io.BytesIO()  # what the exporter of TorchScript takes, though its annotation names paths alone
        torch.onnx.export(
            module.to(dtype), arguments, file, input_names=list(inputs), opset_version=opset, dynamo=False
        )
        return onnx.load_from_string(file.getvalue())


def make_torch(name: str) -> Made:
    """The model of a row and its samples."""
    row = TORCH_MODELS[name]
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    with torch.no_grad():
        module = row.build().eval()
        _warm(module, row.draw, generator)
        model = row.finish(exported(module, row.draw(generator), row.dtype, dynamo=row.dynamo, opset=row.opset))
    kinds = {each.name: helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type) for each in model.graph.input}
    drawn = (row.draw(generator) for _ in range(_CALIBRATING + _JUDGED))
    samples = [{key: array.astype(kinds[key]) for key, array in each.items()} for each in drawn]
    return Made(model, samples[:_CALIBRATING], samples[_CALIBRATING:])
