"""The frozen model: the pipeline's own parts, tokens and predictions, and what it refuses."""

import shutil

import pytest
import torch
from diffusers import DDPMScheduler
from safetensors.torch import save_file

from privlib.data.locate import DataError
from privlib.denoisers.pipelines import load_pipeline
from privlib.denoisers.text_to_image import generate
from privlib.inversion.model import FrozenModel
from tests.inversion import tiny


def test_prompts_are_what_diffusers_will_see(model, pipeline):
    prompts = model.prompts(tiny.TEMPLATES, "<style>")
    assert len(prompts) == 3 and len(pipeline.tokenizer) == len(model.tokenizer)  # the user's tokenizer is left alone
    pipeline.tokenizer.add_tokens(["<style>"])
    number = pipeline.tokenizer.convert_tokens_to_ids("<style>")
    for i, template in enumerate(tiny.TEMPLATES):
        text = template.replace("{}", "<style>")
        ids = torch.tensor(pipeline.tokenizer(text, padding="max_length", max_length=tiny.LENGTH).input_ids)
        assert torch.equal(prompts.places[i], ids == number)
        assert torch.equal(prompts.ids[i][~prompts.places[i]], ids[ids != number])


def test_a_words_own_vector_in_its_place_changes_nothing(model):
    prompts = model.prompts(("an {} a",), "<style>")
    vector = model.word_vector(tiny.WORD)
    ids = torch.tensor([model.tokenizer("an icon a", padding="max_length", max_length=tiny.LENGTH).input_ids])
    expected = model.text_encoder(ids)[0]
    torch.testing.assert_close(model.encode_text(prompts.ids, prompts.places, vector[None]), expected)
    assert model.vocabulary_norms()[ids[0, 3]] == pytest.approx(float(vector.norm()))
    assert model.dimension == tiny.WIDTH and model.image_side == tiny.SIDE


@pytest.mark.parametrize("kind", ["epsilon", "v_prediction", "sample"])
def test_losses_follow_the_prediction_type(tmp_path, kind):
    model = FrozenModel.from_pipeline(tiny.pipeline(tmp_path, prediction_type=kind))
    generator = torch.Generator().manual_seed(0)
    latents, noise = torch.randn(2, 3, 2, 8, 8, generator=generator)
    times, hidden = torch.tensor([3, 40, 10]), torch.randn(3, tiny.LENGTH, tiny.WIDTH, generator=generator)
    kept = DDPMScheduler(num_train_timesteps=50).alphas_cumprod[times].sqrt().reshape(3, 1, 1, 1)
    left = (1 - kept**2).sqrt()
    predicted = model.unet(kept * latents + left * noise, times, hidden).sample
    target = {"epsilon": noise, "sample": latents, "v_prediction": kept * noise - left * latents}[kind]
    expected = (predicted - target).square().mean((1, 2, 3))
    torch.testing.assert_close(model.losses(latents, noise, times, hidden), expected, rtol=1e-5, atol=1e-6)


def test_fingerprint_sees_every_weight(model):
    before = model.fingerprint()
    assert before == model.fingerprint()
    with torch.no_grad():
        next(iter(model.unet.parameters())).view(-1)[0] += 1e-12
    assert model.fingerprint() != before


def test_pipelines_are_loaded_or_refused(pipeline, tmp_path):
    folder = tmp_path / "saved"
    with pytest.raises(DataError, match="model_index.json"):
        load_pipeline(folder)
    pipeline.save_pretrained(folder)
    FrozenModel.from_pipeline(load_pipeline(folder))
    shutil.rmtree(folder / "unet")
    with pytest.raises(DataError, match="lacks unet"):
        load_pipeline(folder)
    pipeline.unet = None
    with pytest.raises(ValueError, match="it lacks unet"):
        FrozenModel.from_pipeline(pipeline)


def test_unreadable_weights_name_the_folder(pipeline, tmp_path):
    folder = tmp_path / "saved"
    pipeline.save_pretrained(folder)
    weights = folder / "unet" / "diffusion_pytorch_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:50])
    with pytest.raises(DataError, match="saved cannot be read"):
        load_pipeline(folder)


def test_settings_that_the_loss_does_not_cover_are_refused(pipeline):
    pipeline.text_encoder.config.use_attention_mask = True
    with pytest.raises(ValueError, match="use_attention_mask"):
        FrozenModel.from_pipeline(pipeline)


def test_pictures_with_a_vector_are_those_of_diffusers_with_the_loaded_word(pipeline, tmp_path):
    model = FrozenModel.from_pipeline(pipeline)
    vectors = torch.randn(2, tiny.WIDTH, generator=torch.Generator().manual_seed(3))
    drawn = generate(pipeline, model.encode_prompts(tiny.TEMPLATES[:2], vectors), seeds=[5, 6], num_steps=3)
    for i, template in enumerate(tiny.TEMPLATES[:2]):
        plain = tiny.pipeline(tmp_path)
        save_file({"<new>": vectors[i]}, tmp_path / "learned_embeds.safetensors")
        plain.load_textual_inversion(tmp_path, weight_name="learned_embeds.safetensors")
        expected = generate(plain, [template.format("<new>")], seeds=[5 + i], num_steps=3)
        torch.testing.assert_close(drawn[i], expected[0], rtol=1e-4, atol=1e-4)
    assert (drawn[0] - drawn[1]).abs().max() > 0.01
    with pytest.raises(ValueError, match="one for each vector, got 3 for 2"):
        model.encode_prompts(tiny.TEMPLATES, vectors)
