"""How the bundled text-to-image model is built and trained: data, not code."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from privlib.training.resumable import Stage


@dataclass(frozen=True)
class TextToImageRecipe:
    """The whole model.

    Attributes:
        autoencoder, diffusion: the two runs, in this order.
        vocabulary_size: pieces of words, the two marks of start and end among them.
        max_tokens: tokens of a prompt, start and end included; longer prompts are cut.
        text_width, text_layers, text_heads: of the CLIP text encoder. The width is that of a word's embedding, hence of
            the vector that textual inversion finds.
        autoencoder_channels: width at 32, 16 and 8 pixels.
        latent_channels: of the 8 by 8 latent.
        kl_weight: of the mean divergence of a latent value from a unit normal, beside an L1 and a squared error.
        unet_channels: width at 8 by 8, which has no attention, and at 4 by 4, which attends to the prompt.
        unet_heads: attention heads (what diffusers calls ``attention_head_dim``).
        picture_variants, glyph_variants: how often a picture in colour is moved, and a glyph moved and coloured, in the
            set of latents that diffusion is trained on.
        shift: largest move in pixels.
        caption_dropout: probability of the empty caption, which classifier-free guidance needs.
    """

    autoencoder: Stage
    diffusion: Stage
    vocabulary_size: int = 3072
    max_tokens: int = 20
    text_width: int = 96
    text_layers: int = 4
    text_heads: int = 3
    autoencoder_channels: tuple[int, ...] = (32, 48, 64)
    latent_channels: int = 8
    kl_weight: float = 1e-3
    unet_channels: tuple[int, ...] = (96, 128)
    unet_heads: int = 4
    picture_variants: int = 4
    glyph_variants: int = 16
    shift: int = 1
    caption_dropout: float = 0.1

    def to_dict(self) -> dict[str, object]:
        """Plain values, as a model card stores them."""
        return asdict(self)

    def autoencoder_dict(self) -> dict[str, object]:
        """What the autoencoder depends on: a change of the rest leaves it as it is."""
        names = ("autoencoder", "autoencoder_channels", "latent_channels", "kl_weight", "shift")
        return {name: value for name, value in self.to_dict().items() if name in names}


RECIPE = TextToImageRecipe(
    autoencoder=Stage(
        total_images=56_000,
        batch_size=16,
        learning_rate=1e-3,
        warmup_images=1_600,
        decay_fraction=0.5,
        ema_halflife=2_000,
        save_every=4_000,
    ),
    diffusion=Stage(
        total_images=900_000,
        batch_size=64,
        learning_rate=8e-4,
        warmup_images=20_000,
        decay_fraction=0.5,
        ema_halflife=20_000,
        save_every=9_600,
    ),
)
