"""What is shipped is a Stable Diffusion pipeline like any other: it reloads, draws, and takes a new word."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from privlib.data.locate import DataError
from privlib.denoisers.text_to_image import (
    generate,
    load_named_pipeline,
    load_text_to_image,
    pipeline_sha256,
    read_text_to_image_card,
    save_text_to_image,
)


@pytest.fixture
def folder(pipeline, tokenizer_folder, tmp_path):
    return save_text_to_image(pipeline, tokenizer_folder, {"name": "tiny"}, folder=tmp_path / "shipped")


def test_layout_and_half_precision(folder, pipeline):
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert {
        "model_index.json",
        "model_card.json",
        "SHA256SUMS",
        "scheduler/scheduler_config.json",
        "text_encoder/config.json",
        "text_encoder/model.safetensors",
        "tokenizer/vocab.json",
        "tokenizer/merges.txt",
        "unet/diffusion_pytorch_model.safetensors",
        "vae/diffusion_pytorch_model.safetensors",
    } <= files
    weights = load_file(folder / "unet" / "diffusion_pytorch_model.safetensors")
    assert all(value.dtype == torch.float16 for value in weights.values())
    assert next(pipeline.unet.parameters()).dtype == torch.float32, "the caller's networks stay as they are"
    assert not [file for file in folder.parent.iterdir() if file.name.endswith(".part")]
    assert read_text_to_image_card(folder=folder) == {"name": "tiny"}


def test_reload_draws_the_same_pictures(folder, pipeline):
    loaded = load_text_to_image(folder=folder)
    for part in ("vae", "text_encoder", "unet"):
        ours, theirs = getattr(pipeline, part).state_dict(), getattr(loaded, part).state_dict()
        for key, value in ours.items():
            expected = value.half().float() if value.is_floating_point() else value
            assert torch.equal(theirs[key], expected), (part, key)
        assert not getattr(loaded, part).training
    drawn = generate(loaded, ["icon of a cat", "icon of a dog"], seeds=[1, 2], num_steps=3)
    assert drawn.shape == (2, 3, 32, 32) and float(drawn.min()) >= -1 and float(drawn.max()) <= 1
    alone = generate(loaded, ["icon of a dog"], seeds=[2], num_steps=3)
    assert torch.allclose(alone[0], drawn[1], atol=1e-4)
    with pytest.raises(ValueError, match="one for each prompt"):
        generate(loaded, ["icon of a dog"], seeds=[1, 2])


def test_a_folder_and_a_hub_name_give_pipelines(folder, tmp_path, monkeypatch):
    asked = []

    def snapshot(name, *, allow_patterns):
        asked.append((name, allow_patterns))
        if name != "somebody/model":
            raise OSError("no network")
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    by_folder, by_name = load_named_pipeline(str(folder)), load_named_pipeline("somebody/model")
    for key, value in by_folder.unet.state_dict().items():
        assert torch.equal(by_name.unet.state_dict()[key], value)
    ((name, patterns),) = asked
    fetched = [file for file in folder.rglob("*") if any(file.relative_to(folder).match(p) for p in patterns)]
    assert {file.suffix for file in fetched} == {".json", ".safetensors", ".txt"} and name == "somebody/model"
    assert pipeline_sha256(str(folder)) == pipeline_sha256("somebody/model")
    with pytest.raises(DataError, match="neither a folder here nor a repository"):
        load_named_pipeline("somebody/other")
    path = folder / "vae" / "diffusion_pytorch_model.safetensors"
    before = pipeline_sha256(str(folder))
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    assert pipeline_sha256(str(folder)) != before
    with pytest.raises(DataError, match="no weights in safetensors"):
        pipeline_sha256(str(tmp_path))


def test_plain_diffusers_loads_the_folder_and_the_new_word(folder, tmp_path):
    from diffusers import StableDiffusionPipeline

    plain = StableDiffusionPipeline.from_pretrained(folder)
    plain.set_progress_bar_config(disable=True)
    vector = torch.randn(1, plain.text_encoder.config.hidden_size, generator=torch.Generator().manual_seed(0))
    save_file({"<style>": vector}, tmp_path / "style.safetensors")
    before = plain("icon of a cat in the style of <style>", num_inference_steps=2, output_type="np", generator=seeded())
    plain.load_textual_inversion(tmp_path, weight_name="style.safetensors")
    number = plain.tokenizer.convert_tokens_to_ids("<style>")
    assert torch.equal(plain.text_encoder.get_input_embeddings().weight[number], vector[0])
    assert number in plain.tokenizer("icon in the style of <style>").input_ids
    after = plain("icon of a cat in the style of <style>", num_inference_steps=2, output_type="np", generator=seeded())
    assert before.images.shape == after.images.shape == (1, 32, 32, 3)
    assert abs(before.images - after.images).max() > 0


def seeded():
    return torch.Generator().manual_seed(0)


def test_tokens_can_be_added(folder):
    loaded = load_text_to_image(folder=folder)
    count = len(loaded.tokenizer)
    assert loaded.tokenizer.add_tokens(["<a>", "<b>"]) == 2
    loaded.text_encoder.resize_token_embeddings(len(loaded.tokenizer))
    assert loaded.tokenizer.convert_tokens_to_ids("<b>") == count + 1
    assert len(loaded.text_encoder.get_input_embeddings().weight) == count + 2


def test_one_changed_byte_is_refused(folder):
    path = folder / "unet" / "diffusion_pytorch_model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="differs from its checksum"):
        load_text_to_image(folder=folder)


def test_a_weight_beyond_half_precision_is_refused(pipeline, tokenizer_folder, tmp_path):
    with torch.no_grad():
        pipeline.unet.conv_in.weight[0, 0, 0, 0] = 1e6
    with pytest.raises(ValueError, match="not finite in float16"):
        save_text_to_image(pipeline, tokenizer_folder, {}, folder=tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()


def test_configurations_say_nothing_of_this_machine(folder):
    for path in folder.rglob("*.json"):
        assert "_name_or_path" not in json.loads(path.read_text()), path
