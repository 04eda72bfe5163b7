"""Crops and flips against a slow loop, and parts of images whose place is known."""

import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.decentral.tasks.augment import CropAndFlip, ResizedCrop
from mlscale.decentral.tasks.base import unchanged


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def shifted(image: torch.Tensor, down: int, right: int, *, mirrored: bool) -> torch.Tensor:
    _, height, width = image.shape
    out = torch.zeros_like(image)
    for row in range(height):
        for column in range(width):
            y, x = row + down, column + right
            if 0 <= y < height and 0 <= x < width:
                out[:, row, column] = image[:, y, x]
    return out.flip(2) if mirrored else out


def test_every_crop_is_one_of_the_possible_ones_and_all_come() -> None:
    image = torch.arange(1.0, 61.0).reshape(3, 4, 5)
    choices = [
        shifted(image, down, right, mirrored=mirrored)
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
        for mirrored in (False, True)
    ]
    cropped = CropAndFlip(1)(image.expand(300, 3, 4, 5), rng())
    seen = {next(i for i, each in enumerate(choices) if torch.equal(each, one)) for one in cropped}
    assert seen == set(range(18))


@pytest.mark.parametrize("augment", [CropAndFlip(2), ResizedCrop(6)])
def test_the_generator_alone_decides_and_leading_axes_make_no_difference(augment) -> None:
    x = torch.rand(2, 4, 3, 8, 8)
    first = augment(x, rng())
    assert torch.equal(augment(x, rng()), first)
    assert torch.equal(augment(x.flatten(0, 1), rng()), first.flatten(0, 1))
    assert not torch.equal(augment(x, rng(1)), first)
    assert first.shape[:3] == (2, 4, 3)


def test_a_part_of_a_ramp_is_a_ramp_within_it() -> None:
    size = 32
    places = torch.arange(size).float()
    x = torch.stack([places.expand(size, size), places[:, None].expand(size, size)])  # column, row
    cut = ResizedCrop(16)(x.expand(200, 2, size, size), rng())
    assert cut.shape == (200, 2, 16, 16)
    assert cut.min() >= 0
    assert cut.max() <= size - 1
    steps_x, steps_y = cut[:, 0, 8].diff(dim=1)[:, 4:11], cut[:, 1, :, 8].diff(dim=1)[:, 4:11]
    # Within the part, both channels go in even steps: columns either way, rows downwards.
    for steps in (steps_x, steps_y):
        assert (steps - steps.mean(1, keepdim=True)).abs().max() < 1e-4
    assert (steps_y > 0).all()
    # Edges of the part, half a step outside its first and last pixel, lie within the image's.
    for middle, steps in ((cut[:, 0, 8, 7], steps_x), (cut[:, 1, 7, 8], steps_y)):
        step = steps.mean(1)
        for edge in (middle - 7.5 * step, middle + 8.5 * step):
            assert edge.min() > -0.501
            assert edge.max() < size - 0.499
    mirrored = (steps_x < 0).all(1)
    assert 60 < mirrored.sum() < 140
    area = (steps_x.abs().mean(1) * 16 / size) * (steps_y.mean(1) * 16 / size)
    assert 0.079 < area.min() < 0.13
    assert 0.8 < area.max() <= 1.0001
    ratio = steps_x.abs().mean(1) / steps_y.mean(1)
    assert 0.74 < ratio.min() < 0.8
    assert 1.25 < ratio.max() < 1.34


def test_the_whole_of_an_image_is_the_image() -> None:
    x = torch.rand(5, 3, 8, 8)
    whole = ResizedCrop(8, min_area=1.0, max_ratio=1.0)(x, rng())
    for before, after in zip(x, whole, strict=True):
        assert min((after - before).abs().max(), (after - before.flip(2)).abs().max()) < 1e-5


def test_no_change_draws_nothing() -> None:
    generator, x = rng(), torch.rand(2, 3)
    before = generator.get_state()
    assert unchanged(x, generator) is x
    assert torch.equal(generator.get_state(), before)
