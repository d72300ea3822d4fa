"""Pictures as grey values."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpnmf.errors import InputError, NotFoundError
from dpnmf.prepare._input import is_path, listed, needed, reading
from dpnmf.prepare._output import Path, Prepared, finish

_EIGHT_BITS = frozenset(["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr"])
# Tags of TIFF and EXIF, and their values.
_PHOTOMETRIC, _WHITE_IS_ZERO = 0x0106, 0
_ORIENTATION = 0x0112
_TURNS = {
    2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE",
    6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90",
}  # fmt: skip


def images(
    source: Path | Iterable[Path], output: Path, *, size: tuple[int, int], invert: bool = False, **flags: Any
) -> Prepared:
    """Pictures as rows of grey values, 0 to 255, row by row; one for each person.

    source: a directory, whose files are read in the order of their names, or
    paths. size: the declared width and height, to which all are scaled. invert:
    dark pixels get large values. 16 bits are scaled to 8, what is transparent
    stands on white, and pictures are turned as their camera was (EXIF).
    """
    PIL_Image = needed("PIL.Image", "python3-pil")
    width, height = _checked(size)
    if is_path(source):
        folder = pathlib.Path(source)
        if not folder.is_dir():
            raise NotFoundError("directory-not-found", f"There is no directory {folder}.")
        paths = sorted(p for p in folder.iterdir() if p.is_file())
    else:
        paths = listed("list of pictures", source)
        if odd := [path for path in paths if not is_path(path)]:
            raise InputError("input-malformed", f"The list of pictures holds {odd[0]!r:.40}, which is no path.")
    rows = np.empty((len(paths), width * height), dtype=np.uint8)
    for row, path in zip(rows, paths):
        with reading(path, "a picture"), PIL_Image.open(path) as picture:
            grey = _grey(picture, path)
            if grey.size != (width, height):
                grey = grey.resize((width, height), PIL_Image.Resampling.BOX)
            row[:] = np.asarray(grey).ravel()
    if invert:
        np.subtract(255, rows, out=rows)
    return finish(rows, output, None, flags)


def _checked(size: Any) -> tuple[int, int]:
    whole = isinstance(size, (tuple, list)) and all(isinstance(one, (int, np.integer)) and one > 0 for one in size)
    if whole and len(size) == 2:
        return int(size[0]), int(size[1])
    raise InputError("input-out-of-range", f"`size` must be a width and a height of at least 1, and is {size!r}.")


def _grey(picture: Any, path: Path) -> Any:
    """The picture in grey values of 8 bits (mode L), turned."""
    PIL_Image = needed("PIL.Image", "python3-pil")
    # A photograph in MPO has a preview or a depth behind it.
    if getattr(picture, "n_frames", 1) > 1 and picture.format != "MPO":
        raise InputError("input-malformed", f"{path} holds {picture.n_frames} pictures; save each in a file of its own.")
    picture.load()
    # Pillow turns TIFF when it loads, and leaves the tag.
    orientation = 1 if picture.format == "TIFF" else picture.getexif().get(_ORIENTATION, 1)
    clear = picture.info.get("transparency")
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format in ("PNG", "PPM")):
        if getattr(picture, "tag_v2", {}).get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
            raise InputError("input-malformed", f"{path} has 16 bits with 0 as white; save it with 0 as black.")
        values = np.asarray(picture)
        grey = PIL_Image.fromarray(np.where(values == clear, 255, values >> 8).astype(np.uint8))
    elif picture.mode not in _EIGHT_BITS:
        raise InputError(
            "input-malformed",
            f"{path} has values of the kind '{picture.mode}', and what is black or white among them is not known; save "
            "it with 8 or 16 bits.",
        )
    elif clear is not None or picture.mode in ("LA", "PA", "RGBA", "RGBa"):
        white = PIL_Image.new("RGBA", picture.size, "white")
        grey = PIL_Image.alpha_composite(white, picture.convert("RGBA")).convert("L")
    else:
        grey = picture.convert("L")
    turn = _TURNS.get(orientation)
    return grey if turn is None else grey.transpose(PIL_Image.Transpose[turn])
