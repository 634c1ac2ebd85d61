"""The training loop learns, and an interruption leaves no trace in its result."""

import json

import pytest
import torch

from privlib.data.images import ImageSet
from privlib.denoisers.neural import NeuralDenoiser, UNetConfig
from privlib.training.loop import denoising_loss, held_out_loss, train
from privlib.training.recipes import Recipe

TINY = UNetConfig((3, 8, 8), channels=(32,), attention=(False,), sigma_data=0.6)


def recipe(**change):
    values = {
        "name": "r",
        "data": "d",
        "held_out": "h",
        "total_images": 96,
        "batch_size": 8,
        "warmup_images": 16,
        "learning_rate": 2e-3,
        "ema_halflife": 500,
    }
    return Recipe(**(values | change))


@pytest.fixture
def stripes():
    """Horizontal and vertical stripes: far from white noise, so there is something to learn."""
    base = torch.tensor([0, 255], dtype=torch.uint8).repeat(4)
    rows = torch.stack([base.reshape(8, 1).expand(8, 8), base.reshape(1, 8).expand(8, 8)])
    pixels = rows.repeat(20, 1, 1).reshape(40, 1, 8, 8).expand(40, 3, 8, 8).contiguous()
    return ImageSet("stripes", pixels, torch.zeros(40, dtype=torch.int64), ("stripe",))


def test_training_beats_the_best_linear_denoiser(stripes, tmp_path):
    trained = train(
        recipe(total_images=2400, batch_size=32), stripes, stripes, tmp_path, config=TINY, save_every=10_000
    )
    assert trained.images == 2400 and not trained.denoiser.training
    assert trained.held_out[0.5] < 0.5 * 0.25 / 1.25  # data of variance 1 at noise 0.5


def test_an_interrupted_run_ends_with_the_same_weights(stripes, tmp_path):
    whole = train(recipe(), stripes, stripes, tmp_path / "whole", config=TINY, save_every=16)

    def stop(images, loss, held_out):
        if images == 56:  # past the checkpoint at 48
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(recipe(), stripes, stripes, tmp_path / "halved", config=TINY, save_every=16, progress=stop)
    seen = []
    resumed = train(
        recipe(),
        stripes,
        stripes,
        tmp_path / "halved",
        config=TINY,
        save_every=16,
        progress=lambda *a: seen.append(a[0]),
    )
    assert seen[0] == 56 and seen[-1] == 96
    for key, value in whole.denoiser.state_dict().items():
        assert torch.equal(resumed.denoiser.state_dict()[key], value), key
    assert resumed.held_out == whole.held_out
    log = [json.loads(line) for line in (tmp_path / "halved" / "log.jsonl").read_text().splitlines()]
    assert [line["images"] for line in log] == [16, 32, 48, 64, 80, 96]


def test_a_checkpoint_of_another_run_is_refused(stripes, tmp_path):
    train(recipe(), stripes, stripes, tmp_path, config=TINY)
    for other in (recipe(seed=1), recipe(learning_rate=1e-3)):
        with pytest.raises(ValueError, match="another recipe or other data"):
            train(other, stripes, stripes, tmp_path, config=TINY)
    with pytest.raises(ValueError, match="another recipe or other data"):
        train(recipe(), stripes.subset(range(30)), stripes, tmp_path, config=TINY)


def test_a_finished_run_is_not_trained_again(stripes, tmp_path):
    first = train(recipe(), stripes, stripes, tmp_path, config=TINY)
    again = train(recipe(), stripes, stripes, tmp_path, config=TINY, progress=lambda *a: pytest.fail("a step was made"))
    assert again.held_out == first.held_out


def test_training_goes_on_from_given_weights(stripes, tmp_path):
    first = train(recipe(total_images=2400, batch_size=32), stripes, stripes, tmp_path / "a", config=TINY)
    second = train(recipe(total_images=16), stripes, stripes, tmp_path / "b", initial=first.denoiser)
    assert second.denoiser.config == TINY
    assert second.held_out[0.5] < 1.5 * first.held_out[0.5]


def test_the_network_is_scaled_by_the_data_unless_told_otherwise(stripes, tmp_path):
    big = ImageSet("big", torch.full((4, 3, 8, 8), 255, dtype=torch.uint8), torch.zeros(4, dtype=torch.int64), ("a",))
    assert train(recipe(total_images=8), big, big, tmp_path).denoiser.config.sigma_data == 1.0


def test_a_recipe_may_set_the_channels(stripes, tmp_path):
    narrow = recipe(total_images=8, channels=(32, 32, 64))
    assert train(narrow, stripes, stripes, tmp_path).denoiser.config.channels == (32, 32, 64)


def test_what_a_recipe_leaves_open_is_not_in_its_checkpoints_and_cards():
    assert not {"members", "channels"} & set(recipe().to_dict())
    assert recipe(members=5, channels=(32,)).to_dict() == recipe().to_dict() | {"members": 5, "channels": (32,)}


def test_loss_is_one_for_the_linear_denoiser_of_white_data():
    class Shrink:
        config = TINY

        def __call__(self, x, sigma):
            level = sigma.reshape(-1, 1, 1, 1)
            return x * 0.36 / (0.36 + level**2)

    generator = torch.Generator().manual_seed(0)
    images = 0.6 * torch.randn(512, 3, 8, 8, generator=generator)
    sigma = torch.rand(512, generator=generator) + 0.1
    loss = denoising_loss(Shrink(), images, sigma, torch.randn(images.shape, generator=generator))
    assert float(loss) == pytest.approx(1.0, abs=0.02)


def test_held_out_loss_of_the_identity_is_the_noise(stripes):
    for sigma, loss in held_out_loss(lambda x, sigma: x, stripes).items():
        assert loss == pytest.approx(sigma**2, rel=0.05)


def test_denoiser_returned_is_the_average_not_the_last_step(stripes, tmp_path):
    trained = train(recipe(ema_halflife=10**9), stripes, stripes, tmp_path, config=TINY)
    last = torch.load(tmp_path / "state.pt", weights_only=True)["network"]
    assert isinstance(trained.denoiser, NeuralDenoiser)
    assert not torch.equal(trained.denoiser.state_dict()["network.conv_in.weight"], last["network.conv_in.weight"])
