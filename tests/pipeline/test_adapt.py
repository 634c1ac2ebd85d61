"""The tool of the second paper from a folder of pictures to an embedding that diffusers loads."""

import json
from pathlib import Path

import papermill
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from privlib.denoisers.pipelines import load_pipeline
from tests.inversion import tiny

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "dpagg_ti" / "adapt.ipynb"


@pytest.fixture
def parameters(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for i, image in enumerate(tiny.images(5)):
        pixels = ((image + 1) * 127.5).round().to(torch.uint8).permute(1, 2, 0).repeat_interleave(3, 0)
        Image.fromarray(pixels.numpy()).save(pictures / f"{i}.png")
    tiny.pipeline(tmp_path).save_pretrained(tmp_path / "model")
    return {
        "images": str(pictures),
        "pipeline_name": str(tmp_path / "model"),
        "templates": list(tiny.TEMPLATES),
        "initial_word": tiny.WORD,
        "prompts": ["an {} icon"],
        "num_images": 2,
        "steps": 2,
        "batch_size": 3,
        "out": str(tmp_path / "out"),
        "private_folder": str(tmp_path / "private"),
        "tier": "smoke",
    }


def run(parameters, tmp_path):
    papermill.execute_notebook(
        NOTEBOOK, tmp_path / "out.ipynb", parameters, cwd=NOTEBOOK.parents[2], kernel_name="python3", progress_bar=False
    )


@pytest.mark.slow
def test_a_folder_becomes_an_embedding_with_its_certificate(parameters, tmp_path) -> None:
    run({**parameters, "epsilon": 1.0, "m": 2, "delta": 0.01}, tmp_path)
    out = tmp_path / "out"
    assert sorted(file.name for file in out.iterdir()) == [
        "certificate.json",
        "contact_sheet.png",
        "learned_embeds.safetensors",
    ]
    facts = json.loads((out / "certificate.json").read_text())
    assert facts["parameters"]["sampling"] == "POISSON" and facts["parameters"]["sample_size"] == 2
    assert facts["parameters"]["num_vectors"] == 5 and facts["epsilon"]["upper"] <= 1.0 and facts["delta"] == 0.01
    plain = load_pipeline(tmp_path / "model")
    plain.load_textual_inversion(out, weight_name="learned_embeds.safetensors")
    number = plain.tokenizer.convert_tokens_to_ids("<style>")
    (vector,) = load_file(out / "learned_embeds.safetensors").values()
    assert torch.equal(plain.text_encoder.get_input_embeddings().weight[number].detach(), vector.reshape(-1))
    # The noise is secret: a second run over the kept vectors is another release.
    run({**parameters, "epsilon": 1.0, "m": 2, "delta": 0.01}, tmp_path)
    (again,) = load_file(out / "learned_embeds.safetensors").values()
    assert not torch.allclose(again, vector)
    # Without noise nothing is certified, and the certificate of the run before does not stay.
    run({**parameters, "epsilon": float("inf")}, tmp_path)
    assert not (out / "certificate.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 6}, "must lie in 1..5, the pictures in"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 0.2, "m": 1}, r"delta must lie between 0 and one in the number of pictures, 1 / 5, got 0\.2"),
        ({"image": "elsewhere"}, "unknown parameter image"),
        ({"pipeline_name": "nowhere/at_all"}, "neither a folder here nor a repository"),
    ],
)
def test_bad_input_leaves_nothing(parameters, tmp_path, change, message, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(papermill.PapermillExecutionError, match=message):
        run({**parameters, **change}, tmp_path)
    assert not (tmp_path / "out").exists() and not (tmp_path / "private").exists()
