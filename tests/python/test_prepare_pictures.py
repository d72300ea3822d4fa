"""Grey values of pictures of every kind."""

import io
import struct
import zlib

import numpy as np
import PIL.Image
import pytest
from preparing import code_of, imported, refused

from dpnmf import InputError, NotFoundError, prepare

SMALL = np.array([[0, 100, 200], [50, 150, 250]], dtype=np.uint8)
DEEP = np.array([[0, 255, 256], [300, 40000, 65535]], dtype=np.uint16)
DEEP_GREY = [[0, 0, 1], [1, 156, 255]]
ALPHA = np.array([[255, 0, 255], [128, 255, 0]], dtype=np.uint8)
# 255 where alpha is 0; 50 at alpha 128 is 255 - 205 * 128 / 255 = 152.1.
ON_WHITE = [[0, 255, 200], [152, 150, 255]]


def grey(tmp_path, content, size=(3, 2)):
    """The grey values that come of the bytes of one picture."""
    path = tmp_path / "a"
    path.write_bytes(content)
    prepared = prepare.images([path], tmp_path / "o.npy", size=size)
    return np.load(prepared.path).reshape(size[1], size[0]).tolist()


def written(picture, kind, **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def of(values, mode=None):
    return PIL.Image.fromarray(np.asarray(values), mode)


def png(values, colours, *chunks):
    """A PNG file of 16 bits by hand. colours: 0 grey, 2 RGB, 4 grey with alpha, 6 RGB with alpha."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], 16, colours, 0, 0, 0)
    pieces = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*piece) for piece in pieces)


def rgb(values, *alpha):
    return np.stack([values] * 3 + list(alpha), axis=-1)


def palette(values):
    """Indices 0 to 5 for the grey values."""
    picture = of(np.searchsorted([0, 50, 100, 150, 200, 250], values).astype(np.uint8), "P")
    picture.putpalette([grey for grey in (0, 50, 100, 150, 200, 250) for _ in range(3)])
    return picture


def test_pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    of(SMALL).save(folder / "b.png")
    of(np.kron(SMALL, np.ones((2, 2), dtype=np.uint8))).save(folder / "a.png")
    PIL.Image.new("RGB", (3, 2), (255, 255, 255)).save(folder / "c.png")
    prepared = prepare.images(folder, tmp_path / "o.npy", size=(3, 2))
    expected = [SMALL.ravel(), SMALL.ravel(), np.full(6, 255)]
    np.testing.assert_array_equal(imported(prepared, tmp_path).T, expected)
    inverted = prepare.images([folder / "b.png"], tmp_path / "i.npy", size=(3, 2), invert=True)
    np.testing.assert_array_equal(np.load(inverted.path), [255 - SMALL.ravel()])


EIGHT_BITS = {
    "grey": written(of(SMALL), "PNG"),
    "RGB": written(of(SMALL).convert("RGB"), "PNG"),
    "CMYK": written(of(SMALL).convert("RGB").convert("CMYK"), "TIFF"),
    "palette": written(palette(SMALL), "PNG"),
    "palette of GIF": written(palette(SMALL), "GIF"),
    "BMP": written(of(SMALL), "BMP"),
    "PGM": b"P5 3 2 255\n" + SMALL.tobytes(),
    "TIFF with 0 as white": written(of(SMALL), "TIFF", tiffinfo={262: 0}),
}


@pytest.mark.parametrize("content", EIGHT_BITS.values(), ids=EIGHT_BITS)
def test_eight_bits_are_grey_values(tmp_path, content):
    assert grey(tmp_path, content) == SMALL.tolist()


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "GIF"])
def test_one_bit_is_black_or_white(tmp_path, kind):
    assert grey(tmp_path, written(of(SMALL >= 150), kind)) == np.where(SMALL >= 150, 255, 0).tolist()


SIXTEEN_BITS = {
    "PNG": written(of(DEEP), "PNG"),
    "TIFF": written(of(DEEP), "TIFF"),
    "TIFF, large byte first": written(of(DEEP.astype(">u2")), "TIFF"),
    "TIFF, compressed": written(of(DEEP), "TIFF", compression="tiff_lzw"),
    "PGM": b"P5 3 2 65535\n" + DEEP.astype(">u2").tobytes(),
    "RGB": png(rgb(DEEP), 2),
}


@pytest.mark.parametrize("content", SIXTEEN_BITS.values(), ids=SIXTEEN_BITS)
def test_sixteen_bits_are_scaled(tmp_path, content):
    assert grey(tmp_path, content) == DEEP_GREY


def test_sixteen_bits_keep_their_range(tmp_path):
    ramp = (np.arange(256, dtype=np.uint16) * 257).reshape(16, 16)
    assert grey(tmp_path, written(of(ramp), "PNG"), size=(16, 16)) == np.arange(256).reshape(16, 16).tolist()


def clear(mode, values, index):
    """A picture of one transparent colour."""
    return written(of(values).convert(mode), "PNG", transparency=index)


TRANSPARENT = {
    "LA": written(of(np.stack([SMALL, ALPHA], -1), "LA"), "PNG"),
    "RGBA": written(of(rgb(SMALL, ALPHA)), "PNG"),
    "RGBA of TIFF": written(of(rgb(SMALL, ALPHA)), "TIFF"),
    "RGBA of 16 bits": png(rgb(SMALL, ALPHA).astype(np.uint16) * 257, 6),
    "LA of 16 bits": png(np.stack([SMALL, ALPHA], -1).astype(np.uint16) * 257, 4),
}
ONE_COLOUR = {
    "grey": clear("L", SMALL, 100),
    "RGB": clear("RGB", SMALL, (100, 100, 100)),
    "palette": written(palette(SMALL), "PNG", transparency=2),
    "palette of GIF": written(palette(SMALL), "GIF", transparency=2),
    "16 bits": png(SMALL.astype(np.uint16) * 257, 0, (b"tRNS", struct.pack(">H", 100 * 257))),
}


@pytest.mark.parametrize("content", TRANSPARENT.values(), ids=TRANSPARENT)
def test_transparent_pictures_stand_on_white(tmp_path, content):
    assert grey(tmp_path, content) == ON_WHITE


@pytest.mark.parametrize("content", ONE_COLOUR.values(), ids=ONE_COLOUR)
def test_a_transparent_colour_is_white(tmp_path, content):
    assert grey(tmp_path, content) == [[0, 255, 200], [50, 150, 250]]


TURNED = {
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: np.transpose,
    6: lambda a: np.rot90(a, -1),
    7: lambda a: np.rot90(a, 2).T,
    8: np.rot90,
}


def exif(orientation):
    tags = PIL.Image.Exif()
    tags[0x112] = orientation
    return tags.tobytes()


@pytest.mark.parametrize("orientation", TURNED)
def test_pictures_are_turned_as_the_camera_was(tmp_path, orientation):
    expected, deep = TURNED[orientation](SMALL).tolist(), TURNED[orientation](np.array(DEEP_GREY)).tolist()
    size = (len(expected[0]), len(expected))
    for values, turned in ((SMALL, expected), (DEEP, deep)):
        assert grey(tmp_path, written(of(values), "PNG", exif=exif(orientation)), size=size) == turned
        assert grey(tmp_path, written(of(values), "TIFF", tiffinfo={274: orientation}), size=size) == turned
    blocks = np.kron(SMALL, np.ones((16, 16), dtype=np.uint8))
    jpeg = written(of(blocks), "JPEG", quality=100, exif=exif(orientation))
    np.testing.assert_allclose(grey(tmp_path, jpeg, size=size), expected, atol=2)


NOT_KNOWN = {
    "floats": (written(of(SMALL.astype(np.float32) / 255), "TIFF"), "'F'"),
    "32 bits": (written(of(SMALL.astype(np.int32)), "TIFF"), "'I'"),
    "LAB": (written(PIL.Image.new("LAB", (3, 2)), "TIFF"), "'LAB'"),
    "16 bits with 0 as white": (written(of(DEEP), "TIFF", tiffinfo={262: 0}), "0 as white"),
    "pages": (written(of(SMALL), "TIFF", save_all=True, append_images=[of(SMALL)]), "2 pictures"),
    "a film": (written(of(SMALL), "GIF", save_all=True, append_images=[of(255 - SMALL)]), "2 pictures"),
    "half of a file": (b"P5 3 2 255\n" + SMALL.tobytes()[:3], "can be read"),
    "text": (b"text", "can be read"),
    "nothing": (b"", "can be read"),
}


@pytest.mark.parametrize(("content", "words"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_has_no_known_grey_value_is_refused(tmp_path, content, words):
    found = refused(InputError, grey, tmp_path, content)
    assert found.code == "input-malformed" and words in found.sentence and str(tmp_path / "a") in found.sentence


def test_the_preview_behind_a_photograph_does_not_matter(tmp_path):
    photograph = of(np.kron(rgb(SMALL), np.ones((16, 16, 1), dtype=np.uint8)))
    content = written(photograph, "MPO", save_all=True, append_images=[PIL.Image.new("RGB", (8, 8))], quality=100)
    np.testing.assert_allclose(grey(tmp_path, content), SMALL, atol=2)


def test_what_is_no_picture_is_named(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    assert code_of(InputError, prepare.images, folder, tmp_path / "o.npy", size=(2, 2)) == "input-empty"
    (folder / "a.png").write_text("text")
    with pytest.raises(InputError, match="a.png is not a picture"):
        prepare.images(folder, tmp_path / "o.npy", size=(2, 2))
    assert code_of(NotFoundError, prepare.images, [folder / "b.png"], tmp_path / "o.npy", size=(2, 2)) == "file-not-found"
    assert code_of(NotFoundError, prepare.images, tmp_path / "none", tmp_path / "o.npy", size=(2, 2)) == "directory-not-found"
    assert code_of(InputError, prepare.images, [7], tmp_path / "o.npy", size=(2, 2)) == "input-malformed"
    assert code_of(InputError, prepare.images, None, tmp_path / "o.npy", size=(2, 2)) == "input-malformed"


@pytest.mark.parametrize("size", [8, (8,), (0, 8), (8, 8.0), "88", (1, 2, 3)])
def test_a_size_is_a_width_and_a_height(tmp_path, size):
    assert code_of(InputError, prepare.images, [], tmp_path / "o.npy", size=size) == "input-out-of-range"
