"""Random crops and flips of training images, each image by draws of its own.

Shape letters: B images, all leading axes together; C channels; H, W height and width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class CropAndFlip:
    """Shifts an image by up to `padding` pixels each way, zeros coming in, and mirrors half.

    Args:
        padding: Pixels.

    Source: He et al. 2016 (arXiv 1512.03385), section 4.2.
    """

    padding: int

    def __call__(self, x_B: Tensor, rng: torch.Generator) -> Tensor:
        """Return images (..., C, H, W) of the same size."""
        import torch
        from torch.nn import functional as F

        x_BCHW = x_B.reshape(-1, *x_B.shape[-3:])
        num_images, _, height, width = x_BCHW.shape
        device = x_BCHW.device
        shifts_2B = _integers(2 * self.padding + 1, (2, num_images), rng).to(device)
        mirrored_B = _integers(2, (num_images,), rng).to(device, torch.bool)
        rows_BH = shifts_2B[0, :, None] + torch.arange(height, device=device)
        columns_BW = shifts_2B[1, :, None] + torch.arange(width, device=device)
        columns_BW = torch.where(mirrored_B[:, None], columns_BW.flip(1), columns_BW)
        padded_BCHW = F.pad(x_BCHW, (self.padding,) * 4)
        images_B = torch.arange(num_images, device=device)
        # Around a slice, indexing puts the axes of the indices first: (B, H, W, C).
        x_BHWC = padded_BCHW[images_B[:, None, None], :, rows_BH[:, :, None], columns_BW[:, None]]
        return x_BHWC.permute(0, 3, 1, 2).reshape(x_B.shape)


@dataclass(frozen=True, slots=True)
class ResizedCrop:
    """Cuts out a part of random area and shape, brings it to one size and mirrors half.

    Args:
        size: Height and width afterwards, in pixels.
        min_area: Of the part, as a share of the image.
        max_ratio: Of the part's width to its height, and of its height to its width.

    Source: Szegedy et al. 2015 (arXiv 1409.4842), section 6.
    """

    size: int
    min_area: float = 0.08
    max_ratio: float = 4 / 3

    def __call__(self, x_B: Tensor, rng: torch.Generator) -> Tensor:
        """Return images (..., C, size, size)."""
        import torch
        from torch.nn import functional as F

        x_BCHW = x_B.reshape(-1, *x_B.shape[-3:])
        num_images, num_channels = x_BCHW.shape[:2]
        draws_5B = torch.rand((5, num_images), generator=rng, device=rng.device).to(x_BCHW.device)
        area_B = self.min_area + (1 - self.min_area) * draws_5B[0]
        root_ratio_B = torch.exp((draws_5B[1] - 0.5) * math.log(self.max_ratio))
        # A part that would stick out is cut back to the image.
        width_B = (area_B.sqrt() * root_ratio_B).clamp(max=1)
        height_B = (area_B.sqrt() / root_ratio_B).clamp(max=1)
        sign_B = torch.where(draws_5B[4] < 0.5, -1.0, 1.0)
        # In torch's coordinates an image goes from -1 to 1.
        theta_B23 = torch.zeros((num_images, 2, 3), device=x_BCHW.device)
        theta_B23[:, 0, 0] = width_B * sign_B
        theta_B23[:, 1, 1] = height_B
        theta_B23[:, 0, 2] = (2 * draws_5B[2] - 1) * (1 - width_B)
        theta_B23[:, 1, 2] = (2 * draws_5B[3] - 1) * (1 - height_B)
        shape = num_images, num_channels, self.size, self.size
        grid = F.affine_grid(theta_B23, list(shape), align_corners=False)
        cut = F.grid_sample(
            x_BCHW, grid, mode="bilinear", padding_mode="border", align_corners=False
        )
        return cut.reshape(*x_B.shape[:-2], self.size, self.size)


def _integers(below: int, shape: tuple[int, ...], rng: torch.Generator) -> Tensor:
    import torch

    return torch.randint(below, shape, generator=rng, device=rng.device)
