"""Public groups: k-means on separated clusters, and a group that hangs on nothing but the row itself."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from privlib.denoisers.groups import PublicGroups


def clusters(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    label = torch.arange(count) % 4
    middle = torch.tensor([[5.0, 0, 0], [-5, 0, 0], [0, 5, 0], [0, 0, 5]])
    return middle[label] + 0.1 * torch.randn(count, 3, generator=draw), label


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_separated_clusters_are_found(scale):
    features, label = clusters(200, 0)
    groups = PublicGroups(scale * features, 12, seed=3)
    assert int(groups.sizes.sum()) == 200 and torch.equal(torch.bincount(groups.index, minlength=12), groups.sizes)
    for group in range(12):
        assert len(label[groups.index == group].unique()) <= 1, "a group holds images of two clusters"
    fresh, fresh_label = clusters(80, 1)
    for group, actual in zip(groups.assign(scale * fresh), fresh_label, strict=True):
        assert bool((label[groups.index == group] == actual).all())
    assert torch.equal(groups.assign(scale * features), groups.index)


@given(seed=st.integers(0, 2**32 - 1), dim=st.sampled_from([1, 3, 64]), place=st.integers(0, 20), ties=st.booleans())
@settings(max_examples=60, deadline=None)
def test_other_rows_never_change_a_group(seed, dim, place, ties):
    draw = torch.Generator().manual_seed(seed)
    public = torch.randn(42, dim, generator=draw)
    # Without iterations every image is a center of its own, and half-way between two of them a rounding decides.
    groups = PublicGroups(public, 42, iterations=0) if ties else PublicGroups(public, 9, iterations=3)
    rows = (public[:21].double() + public[21:]) / 2 if ties else 3.0 * torch.randn(21, dim, generator=draw)
    fewer = torch.cat([rows[:place], rows[place + 1 :]])
    difference = groups.counts(rows) - groups.counts(fewer)
    assert difference.abs().sum() == 1 and difference[groups.assign(rows)[place]] == 1
    assert torch.equal(groups.assign(rows), torch.cat([groups.assign(row[None]) for row in rows]))


def test_no_rows_are_counted_as_none():
    groups = PublicGroups(clusters(20, 0)[0], 4)
    assert groups.counts(torch.zeros(0, 3)).tolist() == [0, 0, 0, 0]


def test_identical_images_fall_into_one_group():
    groups = PublicGroups(torch.ones(6, 2), 3)
    assert groups.sizes.tolist() == [6, 0, 0]


def test_bad_arguments():
    features = clusters(20, 0)[0]
    for bad, message in ((features[:, 0], "shape"), (features[:0], "m >= 1"), (features * float("nan"), "finite")):
        with pytest.raises(ValueError, match=message):
            PublicGroups(bad, 1)
    with pytest.raises(ValueError, match="num_groups"):
        PublicGroups(features, 0)
    with pytest.raises(ValueError, match="1..20"):
        PublicGroups(features, 21)
    groups = PublicGroups(features, 2)
    with pytest.raises(ValueError, match="shape"):
        groups.assign(features[:, :2])
    with pytest.raises(ValueError, match="finite"):
        groups.counts(features * float("inf"))
