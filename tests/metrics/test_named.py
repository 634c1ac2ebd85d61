"""A name leads to its feature network, and a wrong one is refused with those there are."""

import pytest

from privlib.metrics import named
from privlib.metrics.named import load_features


def test_the_stand_ins_say_that_they_are():
    extractor = load_features("efficientnet", side=96)
    assert extractor.side == 96 and extractor.stand_in_for
    assert load_features("icon_text").stand_in_for == "CLIP ViT-B/32"


@pytest.mark.parametrize("name", named.PUBLISHED)
def test_published_networks_go_to_the_device(name, monkeypatch):
    monkeypatch.setitem(named.PUBLISHED, name, lambda *, device: (name, device))
    assert load_features(name, device="cpu") == (name, "cpu")


def test_an_unknown_name():
    with pytest.raises(
        ValueError, match="name must be one of efficientnet, icon_text, clip, dinov2, inception, got 'resnet'"
    ):
        load_features("resnet")
