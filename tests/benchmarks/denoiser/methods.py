"""The posterior mean as others would compute it, and as privlib does: each takes x (b, d), data (n, d) and sigma."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch.nn.functional import scaled_dot_product_attention

from privlib.data.images import ImageSet
from privlib.denoisers.blocks import Blocks
from privlib.denoisers.empirical import EmpiricalDenoiser

SHAPE = (3, 32, 32)
Method = Callable[[torch.Tensor, float], torch.Tensor]


def images(count: int) -> ImageSet:
    """Smooth synthetic images, all different: halves of two out of some thousand patterns added up."""
    generator = torch.Generator().manual_seed(0)
    small = 1.5 * torch.randn(2048, 3, 6, 6, generator=generator)
    patterns = torch.nn.functional.interpolate(small, size=SHAPE[1:], mode="bilinear").clamp_(-1, 1)
    halves = patterns.add_(1.0).mul_(63.75).round_().to(torch.uint8)
    first = torch.arange(count) % 2048
    second = (torch.arange(count) // 2048 + 31 * first) % 2048
    pixels = torch.empty(count, *SHAPE, dtype=torch.uint8)
    for part in torch.arange(count).split(4096):
        torch.add(halves[first[part]], halves[second[part]], out=pixels[part[0] : part[-1] + 1])
    return ImageSet("synthetic", pixels, torch.zeros(count, dtype=torch.int64), ("all",))


def products(data: torch.Tensor) -> Method:
    """The two float32 products and nothing else: the time to compare with, not a posterior mean."""
    return lambda x, sigma: (x @ data.T) @ data


def tiled_products(data: torch.Tensor) -> Method:
    """The same in tiles that stay in the cache, which is where privlib starts from."""

    def run(x: torch.Tensor, sigma: float) -> torch.Tensor:
        result = torch.zeros_like(x)
        for tile in data.split(880):
            result += (x @ tile.T) @ tile
        return result

    return run


def ours(data: torch.Tensor) -> Method:
    """EmpiricalDenoiser on a float32 tensor."""
    return EmpiricalDenoiser(data)


def ours_bytes(data: torch.Tensor) -> Method:
    """EmpiricalDenoiser on an ImageSet."""
    pixels = data.add(1.0).mul_(127.5).round_().to(torch.uint8).reshape(-1, *SHAPE)
    denoiser = EmpiricalDenoiser(ImageSet("set", pixels, torch.zeros(len(data), dtype=torch.int64), ("all",)))
    return lambda x, sigma: denoiser(x.reshape(-1, *SHAPE), sigma).reshape(x.shape)


def naive(data: torch.Tensor) -> Method:
    """torch.cdist, softmax and a product, as written down from the formula."""
    return lambda x, sigma: torch.softmax(torch.cdist(x, data).square() / (-2.0 * sigma**2), dim=1) @ data


def attention(data: torch.Tensor) -> Method:
    """scaled_dot_product_attention with the squared norms as an additive mask."""
    norms = 0.5 * data.square().sum(dim=1)
    keys = data[None, None]

    def run(x: torch.Tensor, sigma: float) -> torch.Tensor:
        mask = (norms / -(sigma**2)).expand(1, 1, len(x), -1)
        return scaled_dot_product_attention(x[None, None], keys, keys, attn_mask=mask, scale=sigma**-2)[0, 0]

    return run


def keops(data: torch.Tensor) -> Method:
    """A symbolic matrix of direct squared distances, reduced in compiled code."""
    from pykeops.torch import LazyTensor

    records = LazyTensor(data[None])

    def run(x: torch.Tensor, sigma: float) -> torch.Tensor:
        squared = ((LazyTensor(x[:, None].contiguous()) - records) ** 2).sum(-1)
        return (squared / (-2.0 * sigma**2)).sumsoftmaxweight(records, axis=1)

    return run


METHODS: dict[str, Callable[[torch.Tensor], Method]] = {
    f.__name__: f for f in (products, tiled_products, ours, ours_bytes, naive, attention, keops)
}


def installed(name: str) -> bool:
    """Whether a method can run here: KeOps is optional."""
    return name != "keops" or find_spec("pykeops") is not None


def blocks_ours(data: torch.Tensor, blocks: Blocks) -> Method:
    """EmpiricalDenoiser.on_blocks, in float64."""
    return EmpiricalDenoiser(data).on_blocks(blocks)


def blocks_loop(data: torch.Tensor, blocks: Blocks) -> Method:
    """The naive method block after block, in float32."""

    def run(x: torch.Tensor, sigma: float) -> torch.Tensor:
        rows = [naive(data[index])(point[None], sigma) for point, index in zip(x, blocks.index, strict=True)]
        return torch.cat(rows)

    return run


def blocks_gathered(data: torch.Tensor, blocks: Blocks) -> Method:
    """All blocks copied at once, then batched cdist, softmax and product, in float32."""

    def run(x: torch.Tensor, sigma: float) -> torch.Tensor:
        gathered = data[blocks.index]
        squared = torch.cdist(x[:, None], gathered).square()
        return (torch.softmax(squared / (-2.0 * sigma**2), dim=2) @ gathered)[:, 0]

    return run


BLOCK_METHODS: dict[str, Callable[[torch.Tensor, Blocks], Method]] = {
    f.__name__: f for f in (blocks_ours, blocks_loop, blocks_gathered)
}
