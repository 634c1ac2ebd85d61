r"""A frozen text-to-image model whose loss takes one vector for each picture, in the place of a word.

With a prompt that holds the placeholder, a latent z, noise and a time t, the loss of a picture is that of Textual
Inversion (Gal et al. 2023),

.. math:: \ell(v) = \frac1D \bigl\|\,\text{target} - \text{unet}(z_t, t, \text{encode}(\text{prompt}, v))\bigr\|^2,

where v stands at the placeholder's place in the text encoder's input. Rows of a batch share the weights and nothing
else: the gradient of row i's vector is the gradient of row i's loss.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from diffusers import AutoencoderKL, DDPMScheduler, DiffusionPipeline, SchedulerMixin, UNet2DConditionModel
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from privlib.data.images import check_unit_images

_TARGETS = ("epsilon", "v_prediction", "sample")


@dataclass(frozen=True)
class Prompts:
    """Templates as token numbers.

    Attributes:
        ids: shape (templates, length), the placeholder's places holding 0.
        places: bool, the same shape; True where the placeholder stands.
    """

    ids: torch.Tensor = field(repr=False)
    places: torch.Tensor = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class FrozenModel:
    """The parts of a ``StableDiffusionPipeline`` that Textual Inversion needs, in evaluation mode, without gradients.

    Attributes:
        tokenizer, text_encoder, unet: as diffusers keeps them.
        schedule: adds noise and says what the network predicts.
        vae: autoencoder between pictures and latents.
    """

    tokenizer: PreTrainedTokenizerBase = field(repr=False)
    text_encoder: PreTrainedModel = field(repr=False)
    unet: UNet2DConditionModel = field(repr=False)
    schedule: SchedulerMixin = field(repr=False)
    vae: AutoencoderKL = field(repr=False)

    @classmethod
    def from_pipeline(cls, pipeline: DiffusionPipeline) -> FrozenModel:
        """The parts of a pipeline; freezes its networks in place.

        Raises:
            ValueError: a part that is missing, or a setting that the loss does not cover.
        """
        names = ("tokenizer", "text_encoder", "unet", "scheduler", "vae")
        missing = [name for name in names if getattr(pipeline, name, None) is None]
        if missing:
            raise ValueError(f"pipeline must have {', '.join(names)}; it lacks {', '.join(missing)}")
        schedule = DDPMScheduler.from_config(pipeline.scheduler.config)
        if schedule.config.prediction_type not in _TARGETS:
            raise ValueError(
                f"scheduler.prediction_type must be one of {', '.join(_TARGETS)}, "
                f"got {schedule.config.prediction_type!r}"
            )
        if getattr(pipeline.text_encoder.config, "use_attention_mask", False):
            raise ValueError("text_encoder.use_attention_mask must be False, as in Stable Diffusion, got True")
        for part in (pipeline.text_encoder, pipeline.unet, pipeline.vae):
            part.eval().requires_grad_(False)
        return cls(pipeline.tokenizer, pipeline.text_encoder, pipeline.unet, schedule, pipeline.vae)

    @property
    def dimension(self) -> int:
        """Width of a word's embedding."""
        return self._words().embedding_dim

    @property
    def image_side(self) -> int:
        """Height and width of the pictures that the model makes, in pixels."""
        return self.unet.config.sample_size * 2 ** (len(self.vae.config.block_out_channels) - 1)

    @property
    def num_times(self) -> int:
        return self.schedule.config.num_train_timesteps

    @property
    def device(self) -> torch.device:
        return self._words().weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self._words().weight.dtype

    def _words(self) -> nn.Embedding:
        return self.text_encoder.get_input_embeddings()

    def word_vector(self, word: str) -> torch.Tensor:
        """Embedding of a public word, shape (dimension,).

        Raises:
            ValueError: a word that the tokenizer splits or does not know.
        """
        ids = self.tokenizer(word, add_special_tokens=False).input_ids
        if len(ids) != 1 or ids[0] == self.tokenizer.unk_token_id:
            raise ValueError(f"initial_word must be one token of the model's vocabulary, but {word!r} is {len(ids)}")
        return self._words().weight[ids[0]].detach().clone()

    def vocabulary_norms(self) -> torch.Tensor:
        """L2 norm of every public word's embedding, shape (words,): what a public norm can be chosen from."""
        return self._words().weight.detach().to(torch.float64).norm(dim=1).cpu()

    def prompts(self, templates: Sequence[str], placeholder: str) -> Prompts:
        """Token numbers of templates, exactly as diffusers will see them once it has loaded the placeholder.

        Args:
            templates: each with one ``{}`` for the placeholder.
            placeholder: a token that the vocabulary does not have, such as ``<style>``.

        Raises:
            ValueError: no template, one without ``{}`` or too long, or a placeholder that is a word already.
        """
        if not templates:
            raise ValueError("templates must hold at least one prompt, got none")
        tokenizer = copy.deepcopy(self.tokenizer)
        if not placeholder.strip() or placeholder in tokenizer.get_vocab() or tokenizer.add_tokens([placeholder]) != 1:
            raise ValueError(f"placeholder must be a token that the vocabulary does not have, got {placeholder!r}")
        number = tokenizer.convert_tokens_to_ids(placeholder)
        rows = []
        for template in templates:
            if template.count("{}") != 1:
                raise ValueError(f"templates must hold {{}} once each, got {template!r}")
            text = template.replace("{}", placeholder)
            length = tokenizer.model_max_length
            ids = tokenizer(text, padding="max_length", max_length=length, truncation=True).input_ids
            if ids.count(number) != 1:
                raise ValueError(f"templates: the placeholder does not survive in {template!r} at {length} tokens")
            rows.append(ids)
        ids = torch.tensor(rows)
        places = ids == number
        return Prompts(ids.masked_fill(places, 0).to(self.device), places.to(self.device))

    def encode_text(self, ids: torch.Tensor, places: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """Hidden states of prompts, row i with vector i in the placeholder's place.

        Args:
            ids, places: shape (n, length), as in ``Prompts``.
            vectors: shape (n, dimension); gradients flow to them and to nothing else.

        Returns:
            shape (n, length, hidden width).
        """

        def inject(module: nn.Module, args: tuple, output: torch.Tensor) -> torch.Tensor:
            return torch.where(places[..., None], vectors[:, None, :].to(output.dtype), output)

        # CLIP's text model takes token numbers only, and the lookup is the one place where vectors can come in.
        handle = self._words().register_forward_hook(inject)
        try:
            return self.text_encoder(ids)[0]
        finally:
            handle.remove()

    @torch.no_grad()
    def encode_prompts(
        self, templates: Sequence[str], vectors: torch.Tensor, *, placeholder: str = "<style>"
    ) -> torch.Tensor:
        """Hidden states of prompts with a vector each, as diffusers would encode them once it had loaded the vector.

        Args:
            templates: one for each vector, with one ``{}``.
            vectors: shape (n, dimension).
            placeholder: any token that the vocabulary does not have.

        Returns:
            shape (n, length, hidden width).

        Raises:
            ValueError: as ``prompts``, or numbers of templates and vectors that differ.
        """
        if len(templates) != len(vectors):
            raise ValueError(f"templates must be one for each vector, got {len(templates)} for {len(vectors)}")
        prompts = self.prompts(templates, placeholder)
        return self.encode_text(prompts.ids, prompts.places, vectors.to(self.device))

    @torch.no_grad()
    def encode_images(self, images: torch.Tensor, *, batch_size: int = 8) -> torch.Tensor:
        """Latents of pictures: the mode of the autoencoder's posterior, scaled.

        Args:
            images: unit scale, shape (n, 3, side, side), side = ``image_side``.
            batch_size: pictures that are encoded at once; always as many, so that a latent does not depend, not even
                in its last digits, on how many pictures there are.
        """
        check_unit_images(images)
        expected = (3, self.image_side, self.image_side)
        if tuple(images.shape[1:]) != expected:
            raise ValueError(f"images must have shape (n, {', '.join(map(str, expected))}), got {tuple(images.shape)}")
        config = self.vae.config
        shift = getattr(config, "shift_factor", None) or 0.0
        parts = []
        for part in images.to(self.device, self.dtype).split(batch_size):
            filled = torch.cat([part, part[:1].expand(batch_size - len(part), -1, -1, -1)])
            parts.append(self.vae.encode(filled).latent_dist.mode()[: len(part)])
        return (torch.cat(parts) - shift) * config.scaling_factor

    def losses(
        self, latents: torch.Tensor, noise: torch.Tensor, times: torch.Tensor, hidden: torch.Tensor
    ) -> torch.Tensor:
        """Loss of each row, shape (n,); the mean over the row's entries.

        Args:
            latents, noise: shape (n, *latent).
            times: int64, shape (n,), in 0..num_times - 1.
            hidden: hidden states of the prompts, shape (n, length, width).
        """
        noisy = self.schedule.add_noise(latents, noise, times)
        predicted = self.unet(noisy, times, encoder_hidden_states=hidden, return_dict=False)[0]
        kind = self.schedule.config.prediction_type
        if kind == "epsilon":
            target = noise
        elif kind == "sample":
            target = latents
        else:
            target = self.schedule.get_velocity(latents, noise, times)
        return (predicted - target).square().flatten(1).mean(1)

    def fingerprint(self) -> str:
        """Checksum of all weights and of the schedule: what an embedding depends on besides its picture."""
        digest = hashlib.sha256(repr(sorted(self.schedule.config.items())).encode())
        for part in (self.text_encoder, self.unet, self.vae):
            for name, value in sorted(part.state_dict().items()):
                digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
                digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()
