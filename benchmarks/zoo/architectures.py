# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Architectures of PyTorch that no package ships whole: segmentation, detection, diffusion, speech, sequences.

Each is written as its paper and the usual code have it, small. Weights are PyTorch's own draws: `torch_models` exports.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class UNet(nn.Module):
    """Ronneberger et al. 2015 with batch normalization, and transposed convolutions on the way up."""

    def __init__(self, channels: int = 32, depth: int = 3) -> None:
        super().__init__()
        widths = [channels << level for level in range(depth + 1)]
        self.down = nn.ModuleList(self._double(i, o) for i, o in zip([3, *widths], widths, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(w, w // 2, 2, 2) for w in reversed(widths[1:]))
        self.join = nn.ModuleList(self._double(w, w // 2) for w in reversed(widths[1:]))
        self.head = nn.Conv2d(channels, 2, 1)

    @staticmethod
    def _double(taken: int, given: int) -> nn.Module:
        sizes = ((taken, given), (given, given))
        return nn.Sequential(
            *(m for i, o in sizes for m in (nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()))
        )

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for block in self.down:
            x = block(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        kept.pop()
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.head(x)


def _conv(taken: int, given: int, size: int = 1, stride: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(taken, given, size, stride, size // 2, bias=False), nn.BatchNorm2d(given, 1e-3), nn.SiLU()
    )


class C2f(nn.Module):
    """The split block of YOLOv8: each bottleneck's result is kept and joined."""

    def __init__(self, taken: int, given: int, repeats: int) -> None:
        super().__init__()
        half = given // 2
        self.first = _conv(taken, given)
        self.blocks = nn.ModuleList(nn.Sequential(_conv(half, half, 3), _conv(half, half, 3)) for _ in range(repeats))
        self.last = _conv((2 + repeats) * half, given)

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """YOLOv8's shape, small: C2f stages, a pyramid pooling, two scales joined, boxes by a softmax of distances."""

    bins, classes = 16, 8
    points: Tensor
    strides: Tensor
    positions: Tensor

    def __init__(self, size: int = 256) -> None:
        super().__init__()
        self.stem = nn.Sequential(_conv(3, 16, 3, 2), _conv(16, 32, 3, 2), C2f(32, 32, 1), _conv(32, 64, 3, 2))
        self.middle = C2f(64, 64, 2)
        self.deep = nn.Sequential(_conv(64, 128, 3, 2), C2f(128, 128, 1))
        self.before, self.after = _conv(128, 64), _conv(256, 128)
        self.join = C2f(192, 64, 1)
        self.boxes = nn.ModuleList(nn.Sequential(_conv(c, 64, 3), nn.Conv2d(64, 4 * self.bins, 1)) for c in (64, 128))
        self.scores = nn.ModuleList(nn.Sequential(_conv(c, 64, 3), nn.Conv2d(64, self.classes, 1)) for c in (64, 128))
        grids = [(size // stride, stride) for stride in (8, 16)]
        ranges = [(torch.arange(count) + 0.5, stride) for count, stride in grids]
        points = [torch.stack(torch.meshgrid(r, r, indexing="xy")).flatten(1) * stride for r, stride in ranges]
        self.register_buffer("points", torch.cat(points, 1)[None])
        strides = torch.cat([torch.full((count * count,), float(stride)) for count, stride in grids])
        self.register_buffer("strides", strides[None, None])
        self.register_buffer("places", torch.arange(self.bins, dtype=torch.float32).view(1, 1, self.bins, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        middle = self.middle(self.stem(x))
        deep = self.deep(middle)
        pooled = [self.before(deep)]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        deep = self.after(torch.cat(pooled, 1))
        scales = (self.join(torch.cat([F.interpolate(deep, scale_factor=2.0), middle], 1)), deep)
        boxes = torch.cat([head(f).flatten(2) for head, f in zip(self.boxes, scales, strict=True)], 2)
        scores = torch.cat([head(f).flatten(2) for head, f in zip(self.scores, scales, strict=True)], 2)
        far = (boxes.unflatten(1, (4, self.bins)).softmax(2) * self.positions).sum(2) * self.strides
        low, high = self.points - far[:, :2], self.points + far[:, 2:]
        return torch.cat([low, high], 1).transpose(1, 2), scores.sigmoid()


class ResidualBlock(nn.Module):
    """The residual block of diffusion models: group normalization, SiLU, convolution, twice; the time step is added."""

    def __init__(self, taken: int, given: int, time: int = 0) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(16, taken), nn.Conv2d(taken, given, 3, 1, 1)
        self.time = nn.Linear(time, given) if time else None
        self.norm2, self.conv2 = nn.GroupNorm(16, given), nn.Conv2d(given, given, 3, 1, 1)
        self.short = nn.Conv2d(taken, given, 1) if taken != given else nn.Identity()

    def forward(self, x: Tensor, time: Tensor | None = None) -> Tensor:
        y = self.conv1(F.silu(self.norm1(x)))
        if self.time is not None and time is not None:
            y = y + self.time(F.silu(time))[:, :, None, None]
        return self.short(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    """Scaled dot-product attention of several heads, to itself or to a context."""

    def __init__(self, size: int, heads: int, context: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(size, size, bias=False)
        self.k, self.v = (nn.Linear(context or size, size, bias=False) for _ in range(2))
        self.out = nn.Linear(size, size)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        taken = x if context is None else context
        q, k, v = (m(t).unflatten(-1, (self.heads, -1)).transpose(1, 2) for m, t in
                   ((self.q, x), (self.k, taken), (self.v, taken)))  # fmt: skip
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class SpatialAttention(nn.Module):
    """Attention between the places of an image, as in the middle of an autoencoder."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.GroupNorm(16, channels), Attention(channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.attention(self.norm(x).flatten(2).transpose(1, 2))
        return x + tokens.transpose(1, 2).reshape(x.shape)


class VaeDecoder(nn.Module):
    """The decoder of a latent diffusion autoencoder (Rombach et al. 2022): an image 8 times as large as the latents."""

    def __init__(self, widths: tuple[int, ...] = (128, 128, 64, 32)) -> None:
        super().__init__()
        first = widths[0]
        self.enter = nn.Conv2d(4, first, 3, 1, 1)
        self.middle = nn.Sequential(ResidualBlock(first, first), SpatialAttention(first), ResidualBlock(first, first))
        self.stages = nn.ModuleList(
            ResidualBlock(taken, given) for taken, given in zip((first, *widths), widths, strict=False)
        )
        self.up = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for width in widths[:-1])
        self.norm, self.leave = nn.GroupNorm(16, widths[-1]), nn.Conv2d(widths[-1], 3, 3, 1, 1)

    def forward(self, latent: Tensor) -> Tensor:
        x = self.middle(self.enter(latent))
        for position, stage in enumerate(self.stages):
            x = stage(x)
            if position < len(self.up):
                x = self.up[position](F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.leave(F.silu(self.norm(x)))


class DiffusionBlock(nn.Module):
    """A block of a diffusion U-Net: residual blocks with the time step, attention to itself and to a text, GEGLU."""

    def __init__(self, channels: int = 160, time: int = 320, text: int = 256) -> None:
        super().__init__()
        self.frequencies: Tensor
        self.register_buffer("frequencies", torch.exp(-math.log(10000) * torch.arange(80) / 80)[None])
        self.embed = nn.Sequential(nn.Linear(160, time), nn.SiLU(), nn.Linear(time, time))
        self.first, self.last = ResidualBlock(channels, channels, time), ResidualBlock(channels, channels, time)
        self.norm, self.enter = nn.GroupNorm(16, channels), nn.Linear(channels, channels)
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(3))
        self.self_attention, self.cross = Attention(channels, 5), Attention(channels, 5, text)
        self.wide, self.narrow = nn.Linear(channels, 8 * channels), nn.Linear(4 * channels, channels)
        self.leave = nn.Linear(channels, channels)

    def forward(self, sample: Tensor, timestep: Tensor, text: Tensor) -> Tensor:
        angles = timestep[:, None] * self.frequencies
        time = self.embed(torch.cat([angles.cos(), angles.sin()], -1))
        x = self.first(sample, time)
        tokens = self.enter(self.norm(x).flatten(2).transpose(1, 2))
        tokens = tokens + self.self_attention(self.norms[0](tokens))
        tokens = tokens + self.cross(self.norms[1](tokens), text)
        value, gate = self.wide(self.norms[2](tokens)).chunk(2, -1)
        tokens = tokens + self.narrow(value * F.gelu(gate))
        return self.last(x + self.leave(tokens).transpose(1, 2).reshape(x.shape), time)


class ConformerBlock(nn.Module):
    """Gulati et al. 2020: half a feed-forward, attention, a gated depthwise convolution, half a feed-forward."""

    def __init__(self, size: int, heads: int, kernel: int) -> None:
        super().__init__()
        self.forwards = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.SiLU(), nn.Linear(4 * size, size))
            for _ in range(2)
        )
        self.norm1, self.attention = nn.LayerNorm(size), Attention(size, heads)
        self.norm2, self.norm3 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.gate = nn.Conv1d(size, 2 * size, 1)
        self.depthwise = nn.Conv1d(size, size, kernel, padding=kernel // 2, groups=size)
        self.batch, self.point = nn.BatchNorm1d(size), nn.Conv1d(size, size, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.5 * self.forwards[0](x)
        x = x + self.attention(self.norm1(x))
        y = F.glu(self.gate(self.norm2(x).transpose(1, 2)), 1)
        x = x + self.point(F.silu(self.batch(self.depthwise(y)))).transpose(1, 2)
        x = x + 0.5 * self.forwards[1](x)
        return self.norm3(x)


class Conformer(nn.Module):
    """A speech encoder: features to four times fewer frames by two convolutions, Conformer blocks, characters."""

    def __init__(self, features: int = 80, size: int = 144, blocks: int = 4) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(1, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 32, 3, 2), nn.ReLU())
        self.linear = nn.Linear(32 * (((features - 1) // 2 - 1) // 2), size)
        self.blocks = nn.Sequential(*(ConformerBlock(size, 4, 31) for _ in range(blocks)))
        self.head = nn.Linear(size, 32)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x[:, None]).transpose(1, 2).flatten(2)
        return self.head(self.blocks(self.linear(x))).log_softmax(-1)


class Tcn(nn.Module):
    """Bai et al. 2018: residual blocks of causal convolutions with growing dilation, of which the last step counts."""

    def __init__(self, features: int = 40, size: int = 64, levels: int = 5) -> None:
        super().__init__()
        self.enter = nn.Conv1d(features, size, 1)
        pairs = [[self._weighted(size, 1 << level) for _ in range(2)] for level in range(levels)]
        self.levels = nn.ModuleList(nn.ModuleList(pair) for pair in pairs)
        self.head = nn.Linear(size, 12)

    @staticmethod
    def _weighted(size: int, dilation: int) -> nn.Module:
        return nn.utils.parametrizations.weight_norm(nn.Conv1d(size, size, 3, dilation=dilation))

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        for position, pair in enumerate(self.levels):
            y = x
            for conv in pair.children():
                y = F.relu(conv(F.pad(y, (2 << position, 0))))
            x = F.relu(x + y)
        return self.head(x[:, :, -1])


class KeywordSpotter(nn.Module):
    """A bidirectional GRU of two layers over acoustic features, pooled over time."""

    def __init__(self, features: int = 40, size: int = 96) -> None:
        super().__init__()
        self.gru = nn.GRU(features, size, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * size, 12)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gru(x)[0].mean(1))
