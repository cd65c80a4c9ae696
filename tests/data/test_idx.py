import gzip

import numpy as np
import pytest

from helpers.idx import idx_bytes, random_digits, write_part
from unbraid.data import bundled_digits, mnist_digits, read_idx


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("shape", [(7,), (3, 4, 5), ()])
def test_what_is_written_is_read(tmp_path, shape, compress):
    array = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    data = idx_bytes(array)
    (tmp_path / "file").write_bytes(gzip.compress(data) if compress else data)
    np.testing.assert_array_equal(read_idx(tmp_path / "file"), array)


WHOLE = idx_bytes(np.arange(6).reshape(1, 2, 3))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "must be in the IDX format, which begins with bytes 00 00, got ''"),
        (b"PK\x03\x04 a zip", "must be in the IDX format, which begins with bytes 00 00, got '50 4b 03 04'"),
        (WHOLE[:10], "ends within its header, after 10 bytes; fetch it again."),
        (WHOLE[:-1], r"must have 22 bytes for an array of shape \(1, 2, 3\), got 21; fetch it again."),
        (WHOLE + b"\0", r"must have 22 bytes for an array of shape \(1, 2, 3\), got more"),
        (idx_bytes([1], kind=0x0D), r"must hold unsigned bytes \(IDX type 08\), got type 0d."),
        (b"\0\0\x08\x03" + b"\xff" * 12, r"must have at most 2 GiB, got the shape \(4294967295, "),
        (gzip.compress(WHOLE, mtime=0)[:-9], "is compressed but cut short or damaged; fetch it again."),
        (
            gzip.compress(WHOLE, mtime=0)[:15] + b"\xff" * 30,
            "is compressed but cut short or damaged|cannot be read|must have at most 2 GiB",
        ),
    ],
)
def test_says_what_is_wrong_with_which_file(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        read_idx(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="nothing' cannot be read: No such file or directory"):
        read_idx(tmp_path / "nothing")


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("mark", ["-", "."])
def test_reads_a_folder_in_either_spelling(tmp_path, compress, mark):
    images, labels = random_digits(20)
    learned, held_out = mnist_digits(write_part(tmp_path, "train", images, labels, compress=compress, mark=mark))
    np.testing.assert_array_equal(learned.images, images)
    np.testing.assert_array_equal(learned.labels, labels)
    assert held_out is None


def test_the_second_part_is_held_out(tmp_path):
    write_part(tmp_path, "train", *random_digits(20))
    learned, held_out = mnist_digits(write_part(tmp_path, "t10k", *random_digits(5), compress=True))
    assert (len(learned), len(held_out)) == (20, 5)


def test_one_part_alone_is_learned_from(tmp_path):
    learned, held_out = mnist_digits(write_part(tmp_path, "t10k", *random_digits(5)))
    assert (len(learned), held_out) == (5, None)


def test_digits_of_emnist_are_read_upright(tmp_path):
    images, labels = random_digits(20)
    on_their_side = images.transpose(0, 2, 1)
    write_part(tmp_path, "emnist-digits-train", on_their_side, labels, compress=True)
    learned, held_out = mnist_digits(write_part(tmp_path, "emnist-digits-test", on_their_side[:5], labels[:5]))
    np.testing.assert_array_equal(learned.images, images)
    np.testing.assert_array_equal(learned.labels, labels)
    assert len(held_out) == 5


def test_an_empty_folder_is_told_what_it_should_hold(tmp_path):
    with pytest.raises(ValueError, match="has no digits; it must hold train-images-idx3-ubyte and ") as error:
        mnist_digits(tmp_path)
    names = [f"{part}-{rest}" for part in ("train", "t10k") for rest in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    assert all(name in str(error.value) for name in names)


def test_no_folder():
    with pytest.raises(ValueError, match="data must be a folder, got 'nowhere'"):
        mnist_digits("nowhere")


def test_images_without_labels(tmp_path):
    write_part(tmp_path, "train", *random_digits(5))
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(ValueError, match="has no train-labels-idx1-ubyte; it must hold train-images-idx3-ubyte and"):
        mnist_digits(tmp_path)


def test_rows_that_differ(tmp_path):
    images, labels = random_digits(5)
    with pytest.raises(ValueError, match="has 5 t10k images and 4 labels; they must be as many"):
        mnist_digits(write_part(tmp_path, "t10k", images, labels[:4]))


def test_labels_in_place_of_images(tmp_path):
    write_part(tmp_path, "train", *random_digits(5))
    (tmp_path / "train-images-idx3-ubyte").write_bytes((tmp_path / "train-labels-idx1-ubyte").read_bytes())
    with pytest.raises(ValueError, match="train-images-idx3-ubyte' must have 3 axes to be images, got 1"):
        mnist_digits(tmp_path)


def test_bundled_digits_look_like_mnist():
    digits = bundled_digits()
    assert digits.images.shape == (1797, 28, 28)
    assert digits.images.dtype == np.uint8
    assert np.bincount(digits.labels)[:4].tolist() == [178, 182, 177, 183]
    assert digits.images[:, :4].max() == digits.images[:, :, -4:].max() == 0  # the frame is empty
    assert digits.images.max() == 255
    zero = digits.images[digits.labels == 0].mean(axis=0)
    assert zero[13:15, 13:15].max() < 20 < 100 < zero[13:15, 4:24].max()  # a ring
