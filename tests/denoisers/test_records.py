"""Records as rows: nothing is copied, bytes are exact, and what is no data set is refused."""

import math

import pytest
import torch

from privlib.data.images import ImageSet
from privlib.denoisers.records import Records

CPU = torch.device("cpu")


def image_set(count=7, seed=0):
    pixels = torch.randint(0, 256, (count, 3, 2, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
    return ImageSet("set", pixels, torch.zeros(count, dtype=torch.int64), ("all",))


def test_rows_of_a_tensor_are_the_records():
    data = torch.randn(7, 2, 3, generator=torch.Generator().manual_seed(0))
    records = Records(data)
    assert (len(records), records.dimension, records.event_shape, records.scale) == (7, 6, (2, 3), 1.0)
    tiles = [(start, rows.clone()) for start, rows in records.tiles(3, torch.float32, CPU)]
    assert [start for start, _ in tiles] == [0, 3, 6]
    assert torch.equal(torch.cat([rows for _, rows in tiles]), data.flatten(1))
    index = torch.tensor([[5, 0], [2, 2]])
    assert torch.equal(records.rows(index, CPU), data.flatten(1)[index].double())


def test_tiles_of_a_float32_tensor_are_views():
    data = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    for start, rows in Records(data).tiles(3, torch.float32, CPU):
        assert rows.data_ptr() == data[start].data_ptr()


@pytest.mark.parametrize("shares", [1, 2, 3, 9])
def test_shares_of_the_tiles_make_up_all_of_them(shares):
    records = Records(torch.arange(14.0).reshape(7, 2))
    parts = [list(records.tiles(2, torch.float32, CPU, share=i, shares=shares)) for i in range(shares)]
    assert sorted(start for part in parts for start, _ in part) == [0, 2, 4, 6]
    assert all(float(rows[0, 0]) == 2 * start for part in parts for start, rows in part)
    assert max(map(len, parts)) == math.ceil(4 / shares)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bytes_are_read_as_the_unit_scale_without_rounding(dtype):
    images = image_set()
    records = Records(images)
    exact = images.unit(torch.float64).flatten(1)
    for start, rows in records.tiles(4, dtype, CPU):
        assert rows.dtype == dtype
        torch.testing.assert_close(records.scale * rows.double(), exact[start : start + 4], rtol=0.0, atol=1e-15)
    torch.testing.assert_close(records.scale * records.rows(torch.arange(7), CPU), exact, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("from_bytes", [True, False])
def test_offsets_belong_to_the_centre(from_bytes, monkeypatch):
    monkeypatch.setattr("privlib.denoisers.records._PASS_BYTES", 8 * 24 * 3)
    monkeypatch.setattr("privlib.denoisers.records._CENTRE_RECORDS", 3)
    images = image_set(11)
    exact = images.unit(torch.float64).flatten(1)
    records = Records(images if from_bytes else images.unit(torch.float64))
    torch.testing.assert_close(records.centre, exact[[0, 3, 6, 9]].mean(0))
    torch.testing.assert_close(records.offset, 0.5 * exact.square().sum(1) - exact @ records.centre)
    assert records.scale * records.largest == pytest.approx(exact.norm(dim=1).max().item())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floating_dtypes_are_read_as_they_are(dtype):
    data = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    _, rows = next(Records(data).tiles(5, torch.float32, CPU))
    assert torch.equal(rows, data.float())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (torch.zeros(4, 3, dtype=torch.uint8), "got torch.uint8"),
        (torch.zeros(4, 3, dtype=torch.int64), "floating-point tensor on the unit scale or an ImageSet"),
        ([[0.0], [1.0]], "got list"),
        (torch.zeros(4), r"shape \(n, \*event\)"),
        (torch.zeros(4, 0), "side of 0"),
        (torch.zeros(1, 3), "at least 2 records"),
        (torch.zeros(0, 3), r"got \(0, 3\)"),
        (torch.tensor([[0.0], [math.nan]]), "data must be finite"),
        (torch.tensor([[0.0], [math.inf]]), "data must be finite"),
    ],
)
def test_what_is_no_data_set(data, message):
    with pytest.raises(ValueError, match=message):
        Records(data)


def test_a_single_image_is_no_data_set():
    with pytest.raises(ValueError, match="at least 2 records"):
        Records(image_set(1))
