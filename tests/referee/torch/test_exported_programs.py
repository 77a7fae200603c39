"""Programs of `torch.export` compute the numbers of PyTorch."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError

torch: Any = pytest.importorskip("torch", reason="needs torch: pip install -e '.[torch]'")
nn, F = torch.nn, torch.nn.functional

pytestmark = pytest.mark.referee


class Function(nn.Module):
    """A module of one function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class SelfAttention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]


def check(path: Path, module: Any, inputs: tuple[Any, ...], *, more: Any = (), **options: Any) -> None:
    """Compares the import of an exported module with the module, on `inputs` and on each of `more`."""
    module = module.eval()
    with torch.no_grad():
        exported = torch.export.export(module, inputs, **options)
    content = io.BytesIO()
    torch.export.save(exported, content)
    path.write_bytes(content.getvalue())
    imported = qmlir.load(path)
    for each in (inputs, *more):
        with torch.no_grad():
            wanted = module(*each)
        wanted = torch.utils._pytree.tree_leaves(wanted)
        found = qmlir.interpret(imported, [value.numpy() for value in each])
        for value, expected in zip(found.values(), wanted, strict=True):
            assert (value.dtype, value.shape) == (expected.numpy().dtype, tuple(expected.shape))
            np.testing.assert_allclose(value, expected.numpy(), 1e-5, 1e-5)


ELEMENTWISE: dict[str, Callable[..., Any]] = (
    {
        name: getattr(F, name)
        for name in (
            "relu",
            "relu6",
            "gelu",
            "silu",
            "hardswish",
            "hardsigmoid",
            "mish",
            "elu",
            "selu",
            "celu",
            "softplus",
            "leaky_relu",
            "hardtanh",
            "glu",
            "sigmoid",
            "tanh",
            "logsigmoid",
        )
        if name != "logsigmoid"
    }
    | {
        name: getattr(torch, name)
        for name in (
            "abs",
            "neg",
            "exp",
            "sin",
            "cos",
            "atan",
            "floor",
            "ceil",
            "round",
            "sign",
            "erf",
            "square",
            "sinh",
        )
    }
    | {
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
        "sqrt": lambda x: torch.sqrt(x.abs()),
        "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
        "log1p": lambda x: torch.log1p(x.abs()),
        "scalars": lambda x: 3 - (x * 2 + 1) / 4,
        "add_alpha": lambda x: torch.add(x, x * x, alpha=0.5),
        "rsub_alpha": lambda x: torch.rsub(x, x * x, alpha=2),
        "pow2": lambda x: x**2,
        "pow3": lambda x: x**3,
        "pow_half": lambda x: x.abs() ** 0.5,
        "two_pow": lambda x: 2**x,
        "clamp": lambda x: x.clamp(-0.5, 0.25),
        "clamp_min": lambda x: x.clamp_min(0.1),
        "clamp_tensor": lambda x: x.clamp(min=x * 0),
        "compare": lambda x: (x > 0.5, x >= 0, x < x.roll(1, 0), x <= 1, x == x, x != x),
        "logic": lambda x: (x > 0) & ~(x > 1) | (x < -1),
        "where": lambda x: torch.where(x > 0, x, -x),
        "where_number": lambda x: torch.where(x > 0, x, 1.5),
        "masked_fill": lambda x: x.masked_fill(x > 0, float("-inf")),
        "div_floor": lambda x: torch.div(x, 0.3, rounding_mode="floor"),
        "div_trunc": lambda x: torch.div(x, 0.3, rounding_mode="trunc"),
        "integers": lambda x: (x * 10).to(torch.int64) // 3,
        "remainder": lambda x: (x * 10).to(torch.int64) % 3,
        "fmod": lambda x: torch.fmod(x, 0.3),
        "promoted": lambda x: (x * 10).to(torch.int32) * 0.5,
        "maximum": lambda x: torch.maximum(x, x * x),
        "addcmul": lambda x: torch.addcmul(x, x, x, value=2.0),
        "in_place": lambda x: (x + 1).relu_().add_(1).mul_(2),
        "bools": lambda x: (x > 0).float() + (x > 0).sum(),
    }
)

MOVEMENT: dict[str, Callable[..., Any]] = {
    "view": lambda x: x.view(2, -1),
    "flatten": lambda x: x.flatten(1, 2),
    "unflatten": lambda x: x.unflatten(1, (2, 3)),
    "permute": lambda x: x.permute(2, 0, -2),
    "transpose": lambda x: x.transpose(0, -1),
    "mT": lambda x: x.mT,
    "slice": lambda x: x[:, 1:-1:2, -3:],
    "select": lambda x: (x[:, -1], x[0], x[..., 2]),
    "cat": lambda x: torch.cat([x, x * 2], -1),
    "stack": lambda x: torch.stack([x, x], -1),
    "split": lambda x: x.split(4, 1),
    "split_sizes": lambda x: x.split([1, 2, 3], 1),
    "chunk": lambda x: x.chunk(4, 1),
    "unbind": lambda x: x.unbind(1),
    "expand": lambda x: x[:, :1].expand(-1, 5, -1),
    "repeat": lambda x: x.repeat(2, 1, 1, 2),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "flip": lambda x: x.flip(0, 2),
    "roll": lambda x: x.roll((1, -2), (0, 2)),
    "movedim": lambda x: x.movedim(0, 2),
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=0.5),
    "pad_negative": lambda x: F.pad(x, (-1, 2)),
    "reflect": lambda x: F.pad(x, (1, 2), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2), mode="replicate"),
    "triu": lambda x: torch.triu(x, 1),
    "tril": torch.tril,
    "arange": lambda x: x + torch.arange(8),
    "zeros": lambda x: torch.cat([torch.zeros(2, 1, 8), x], 1),
    "full_like": lambda x: torch.full_like(x, 2.5) * x,
    "index": lambda x: x[:, torch.tensor([2, 0, 1])],
    "index_select": lambda x: x.index_select(2, torch.tensor([3, 3])),
    "gather": lambda x: x.gather(1, torch.zeros(2, 2, 8, dtype=torch.int64)),
    "mean": lambda x: x.mean(-1),
    "mean_all": lambda x: x.mean(),
    "sum": lambda x: x.sum((0, 2), keepdim=True),
    "amax": lambda x: x.amax(1),
    "max": lambda x: tuple(x.max(1)),
    "argmax": lambda x: (x.argmax(), x.argmax(-1)),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(-1, correction=0),
    "norm": lambda x: x.norm(dim=1),
    "logsumexp": lambda x: x.logsumexp(1),
    "prod": lambda x: x.prod(2),
    "cumsum": lambda x: x.cumsum(1),
    "topk": lambda x: tuple(x.topk(3, 1)),
    "any": lambda x: ((x > 1).any(1), (x > -1).all(-1)),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(1),
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "bmm": lambda x: torch.bmm(x, x.mT),
    "matmul": lambda x: x @ x[0].T,
    "baddbmm": lambda x: torch.baddbmm(x[..., :6], x, x.mT, alpha=0.5),
    "sdpa": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "sdpa_mask": lambda x: F.scaled_dot_product_attention(
        x[:, None], x[:, None], x[:, None], torch.ones(6, 6, dtype=torch.bool).tril(), scale=0.3
    ),
    "sdpa_bias": lambda x: F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], torch.eye(6)),
}

LAYERS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(8, 3), (2, 5, 8)),
    "linear_vector": (lambda: nn.Linear(8, 3), (8,)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding="same", dilation=2), (2, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), (2, 4, 9, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2, bias=False), (1, 2, 4, 4, 4)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), (2, 4, 5, 5)),
    "max_pool2d": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 4, 8, 8)),
    "avg_pool2d": (lambda: nn.AvgPool2d(3, 2, 1), (2, 4, 8, 8)),
    "avg_pool2d_without": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False, ceil_mode=True), (2, 4, 8, 8)),
    "adaptive_avg": (lambda: nn.AdaptiveAvgPool2d((2, 4)), (2, 4, 8, 8)),
    "adaptive_max": (lambda: nn.AdaptiveMaxPool2d(1), (2, 4, 8, 8)),
    "batch_norm": (lambda: nn.BatchNorm2d(4), (2, 4, 5, 5)),
    "batch_norm_plain": (lambda: nn.BatchNorm1d(4, affine=False), (2, 4)),
    "layer_norm": (lambda: nn.LayerNorm((5, 8), bias=False), (2, 5, 8)),
    "layer_norm_plain": (lambda: nn.LayerNorm(8, elementwise_affine=False), (2, 5, 8)),
    "group_norm": (lambda: nn.GroupNorm(2, 4, affine=False), (2, 4, 5)),
    "instance_norm": (lambda: nn.InstanceNorm2d(4), (2, 4, 5, 5)),
    "rms_norm": (lambda: nn.RMSNorm(8), (2, 5, 8)),
    "prelu": (lambda: nn.PReLU(4), (2, 4, 5)),
    "lstm": (lambda: nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True), (2, 5, 8)),
    "lstm_plain": (lambda: nn.LSTM(8, 6, bias=False), (5, 2, 8)),
    "gru": (lambda: nn.GRU(8, 6, bidirectional=True), (5, 2, 8)),
    "nearest": (lambda: nn.Upsample(scale_factor=2), (2, 4, 5, 5)),
    "bilinear": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 4, 5, 5)),
    "corners": (lambda: nn.Upsample((7, 9), mode="bilinear", align_corners=True), (2, 4, 5, 5)),
    "bicubic": (lambda: nn.Upsample((7, 9), mode="bicubic"), (2, 4, 5, 5)),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), (2, 8, 3, 3)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    "multi_head": (lambda: SelfAttention(), (2, 5, 8)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions(tmp_path: Path, name: str) -> None:
    torch.manual_seed(len(name))
    check(tmp_path / "model.pt2", Function(ELEMENTWISE[name]), (2 * torch.randn(4, 6),))


@pytest.mark.parametrize("name", MOVEMENT)
def test_movement_and_reduction(tmp_path: Path, name: str) -> None:
    torch.manual_seed(len(name))
    check(tmp_path / "model.pt2", Function(MOVEMENT[name]), (torch.randn(2, 6, 8),))


@pytest.mark.parametrize("name", LAYERS)
def test_layers(tmp_path: Path, name: str) -> None:
    torch.manual_seed(len(name))
    make, shape = LAYERS[name]
    module = make()
    for each in module.modules():  # statistics and affine parameters that are not trivial
        if isinstance(each, nn.BatchNorm1d | nn.BatchNorm2d):
            each.running_mean.normal_()
            each.running_var.uniform_(0.5, 2)
    check(tmp_path / "model.pt2", module, (torch.randn(shape),))


@pytest.mark.parametrize("name", ["conv2d", "layer_norm", "lstm", "transformer", "bilinear"])
def test_a_dynamic_batch_has_any_size(tmp_path: Path, name: str) -> None:
    make, shape = LAYERS[name]
    more = [(torch.randn(count, *shape[1:]),) for count in (1, 5)]
    dynamic = {"dynamic_shapes": ({0: torch.export.Dim("batch", max=64)},)}
    check(tmp_path / "model.pt2", make(), (torch.randn(shape),), more=more, **dynamic)


def test_memory_changed_through_a_view_is_rejected(tmp_path: Path) -> None:
    def forward(x: Any) -> Any:
        y = x + 1
        y.view(-1).relu_()
        return y

    with pytest.raises(DiagnosticError, match="changes memory that"):
        check(tmp_path / "model.pt2", Function(forward), (torch.randn(2, 3),))
