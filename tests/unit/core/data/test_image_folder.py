"""Image folders: classes in order, squares from the middle, files that are no images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlscale.core.data.image_folder import list_images, read_square
from mlscale.core.errors import UserError


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)


def test_subfolders_are_classes_in_order(tmp_path: Path) -> None:
    grey = np.zeros((4, 4), np.uint8)
    for name in ("wolf/b.png", "wolf/a.PNG", "ant/z.png"):
        save(tmp_path / name, grey)
    (tmp_path / "wolf" / "notes.txt").write_text("no image")
    (tmp_path / ".cache").mkdir()
    folder = list_images(tmp_path)
    assert folder.classes == ("ant", "wolf")
    assert [path.name for path in folder.paths] == ["z.png", "a.PNG", "b.png"]
    assert folder.labels_N.tolist() == [0, 1, 1]


def test_the_square_is_the_middle_of_the_image(tmp_path: Path) -> None:
    pixels = np.zeros((8, 16, 3), np.uint8)
    pixels[:, 4:12] = [200, 100, 50]  # the middle 8 x 8
    save(tmp_path / "wide.png", pixels)
    whole = read_square(tmp_path / "wide.png", 8, 1.0)
    assert whole.shape == (3, 8, 8)
    assert (whole == np.array([200, 100, 50])[:, None, None]).all()
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[2:6, 2:6] = 9
    save(tmp_path / "inner.png", pixels)
    assert (read_square(tmp_path / "inner.png", 4, 0.5) == 9).all()


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1", "CMYK"])
def test_every_mode_becomes_three_colours(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("image.jpg" if mode == "CMYK" else "image.png")
    Image.new(mode, (6, 5)).save(path)
    assert read_square(path, 4, 1.0).shape == (3, 4, 4)


def test_errors_name_the_folder_or_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing is not a folder"):
        list_images(tmp_path / "nothing")
    with pytest.raises(UserError, match="has no subfolders"):
        list_images(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty has no images"):
        list_images(tmp_path)
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"not an image")
    with pytest.raises(UserError, match=r"broken.png cannot be read as an image"):
        read_square(broken, 4, 1.0)
    save(broken, np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype(np.uint8))
    broken.write_bytes(broken.read_bytes()[:600])
    with pytest.raises(UserError, match=r"broken.png cannot be read as an image"):
        read_square(broken, 4, 1.0)
