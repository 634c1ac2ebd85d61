"""What each shipped denoiser is trained on and how: data, not code."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Recipe:
    """One training run; a run is a function of its recipe and its data.

    Attributes:
        name: of the weights, and of the folder of the run.
        data, held_out: arguments of ``privlib.data.load``: what is trained on, and what the loss is measured on.
        total_images: images seen, with repetition.
        batch_size: images in a step.
        learning_rate: of AdamW, reached after ``warmup_images`` and left over the last ``decay_fraction`` of the run
            for a straight line to zero.
        ema_halflife: images after which the average of the weights has forgotten half; shorter at the start.
        flip: mirror images at random.
        shift: largest random move in pixels; the rim is filled with the nearest pixel.
        p_mean, p_std: mean and deviation of ln(sigma) in training.
        initial: name of weights to start from, trained before, or empty.
        public: whether the data may be treated as public in the book's experiments.
        seed: of the weights, the order of the images and the noise.
        members: images of ``data`` that are trained on, see ``members.split_members``; 0 for all.
        channels: width of each resolution level of a network with fresh weights; empty for the usual one.
    """

    name: str
    data: str
    held_out: str
    total_images: int
    batch_size: int = 64
    learning_rate: float = 6e-4
    warmup_images: int = 20_000
    decay_fraction: float = 0.25
    ema_halflife: int = 15_000
    flip: bool = True
    shift: int = 0
    p_mean: float = -0.8
    p_std: float = 1.4
    initial: str = ""
    public: bool = True
    seed: int = 0
    members: int = 0
    channels: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values, as a model card stores them; without ``members`` and ``channels`` where they are not set."""
        # Checkpoints and cards from before these two existed stay what they are.
        unset = {name for name in ("members", "channels") if not getattr(self, name)}
        return {name: value for name, value in asdict(self).items() if name not in unset}


#: Targets of membership attacks: a quarter of the usual network's weights, since the weights are shipped.
_SMALL = {"channels": (32, 64, 64), "learning_rate": 1e-3, "public": False}

#: Over-fitting takes many steps on few images, and starts where the denoiser of many members stands: it has seen these
#: images too, and none of its non-members.
_OVERFITTED = {"members": 128, "batch_size": 16, "flip": False, "learning_rate": 1e-3, "public": False}


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("emoji", data="emoji/public", held_out="emoji/public_held_out", total_images=520_000, shift=2),
        Recipe("tiny_imagenet", data="tiny_imagenet/public", held_out="tiny_imagenet/held_out", total_images=420_000),
        Recipe(
            "cifar10",
            data="cifar10/train",
            held_out="cifar10/test",
            total_images=150_000,
            initial="tiny_imagenet",
            public=False,
        ),
        Recipe(
            "emoji_members",
            data="emoji/public",
            held_out="emoji/public_held_out",
            total_images=170_000,
            batch_size=32,
            shift=2,
            members=1685,
            **_SMALL,
        ),
        Recipe(
            "emoji_overfitted",
            data="emoji/public",
            held_out="emoji/public_held_out",
            total_images=250_000,
            initial="emoji_members",
            **_OVERFITTED,
        ),
        Recipe(
            "cifar10_members",
            data="cifar10/train",
            held_out="cifar10/test",
            total_images=400_000,
            members=25_000,
            **_SMALL,
        ),
        Recipe(
            "cifar10_overfitted",
            data="cifar10/train",
            held_out="cifar10/test",
            total_images=350_000,
            initial="cifar10_members",
            **_OVERFITTED,
        ),
    )
}

#: What ``make train-public PROFILE=...`` trains, in this order.
PROFILES = {
    "embedded": ("emoji", "emoji_members", "emoji_overfitted"),
    "cifar10": ("tiny_imagenet", "cifar10", "cifar10_members", "cifar10_overfitted"),
}

#: Weights that stay where they were trained: they may remember images that are not to be redistributed.
NOT_SHIPPED = ("cifar10_members", "cifar10_overfitted")
