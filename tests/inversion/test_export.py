"""The embedding loads with diffusers' own loader, and a certificate goes with a noised vector or not at all."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from privlib.accounting.aggregation import calibrated
from privlib.aggregation import NoisyAggregate, Sampling
from privlib.certificates import export_release
from privlib.data.locate import DataError
from privlib.denoisers.pipelines import load_pipeline
from privlib.inversion.aggregate import release_aggregate
from privlib.inversion.export import export_unprotected, load_embedding, read_embedding
from tests.inversion import tiny

BASE = NoisyAggregate(5, 2, 1.0, 1.0, Sampling.POISSON)


def released(epsilon=1.0):
    mechanism = calibrated(BASE, epsilon, 1e-3)
    vectors = torch.randn(5, tiny.WIDTH, generator=torch.Generator().manual_seed(0))
    return release_aggregate(vectors, mechanism, rng=np.random.default_rng(0)), mechanism


def test_diffusers_loads_the_embedding(pipeline, tmp_path):
    release, mechanism = released()
    path, _ = export_release(release, 1e-3, tmp_path / "out", placeholder="<style>")
    pipeline.save_pretrained(tmp_path / "saved")
    loaded = load_pipeline(tmp_path / "saved")
    loaded.load_textual_inversion(path)
    number = loaded.tokenizer.convert_tokens_to_ids("<style>")
    assert number == len(pipeline.tokenizer)
    row = loaded.text_encoder.get_input_embeddings().weight[number].detach()
    torch.testing.assert_close(row, release.vector.float())
    picture = loaded("an icon in <style>", num_inference_steps=2, output_type="np").images
    assert picture.shape == (1, tiny.SIDE, tiny.SIDE, 3)
    token, vector = read_embedding(path, dimension=tiny.WIDTH)
    assert token == "<style>" and torch.equal(vector, release.vector.float())
    assert load_embedding(pipeline, path) == "<style>"
    assert torch.equal(pipeline.text_encoder.get_input_embeddings().weight[number], row)
    save_file({"<wide>": torch.zeros(tiny.WIDTH + 1)}, tmp_path / "wide.safetensors")
    with pytest.raises(DataError, match=f"wide.safetensors: the vector of <wide> is {tiny.WIDTH + 1} wide"):
        load_embedding(pipeline, tmp_path / "wide.safetensors")


def test_the_certificate_says_what_was_proved(tmp_path):
    release, mechanism = released()
    path, certificate = export_release(release, 1e-3, tmp_path, placeholder="<style>")
    facts = json.loads(certificate.read_text())
    assert facts["adjacency"] == "ADD_OR_REMOVE_ONE" and facts["delta"] == 1e-3 and facts["group_size"] == 1
    assert 0.999 < facts["epsilon"]["lower"] <= facts["epsilon"]["upper"] <= 1.0
    assert facts["parameters"]["sampling"] == "POISSON" and facts["parameters"]["sample_size"] == 2
    assert facts["parameters"]["noise_std"] == mechanism.noise_std
    assert facts["accountant"] == "privlib.accounting.certified" and facts["library"]["version"]
    assert facts["embedding"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["certificate.json", "learned_embeds.safetensors"]


def test_no_certificate_without_noise(tmp_path):
    release, mechanism = released()
    export_release(release, 1e-3, tmp_path, placeholder="<style>")
    bare, _ = released(float("inf"))
    for fake in (bare, release.vector, None):
        with pytest.raises(ValueError, match="added noise"):
            export_release(fake, 1e-3, tmp_path, placeholder="<style>")
    # The certificate of an earlier run does not stay beside an embedding that it does not speak of.
    export_unprotected(bare, tmp_path, placeholder="<style>")
    assert [file.name for file in tmp_path.iterdir()] == ["learned_embeds.safetensors"]
    with pytest.raises(ValueError, match="Unprotected"):
        export_unprotected(release, tmp_path, placeholder="<style>")


def test_a_certificate_states_what_the_accountant_finds_and_nothing_else(tmp_path):
    """Noise of a thousandth of the bound is no protection, whatever somebody would like the certificate to say."""
    vectors = torch.randn(5, tiny.WIDTH, generator=torch.Generator().manual_seed(0))
    weak = replace(BASE, noise_multiplier=1e-3)
    release = release_aggregate(vectors, weak, rng=np.random.default_rng(0))
    _, certificate = export_release(release, 1e-5, tmp_path, placeholder="<style>")
    assert json.loads(certificate.read_text())["epsilon"]["lower"] > 1e5
    with pytest.raises(ValueError, match="delta must lie"):
        export_release(release, 0.0, tmp_path / "other", placeholder="<style>")
    assert not (tmp_path / "other").exists()


def test_bad_embeddings_are_refused(tmp_path):
    release, mechanism = released()
    with pytest.raises(ValueError, match="placeholder must"):
        export_release(release, 1e-3, tmp_path, placeholder=" ")
    path, _ = export_release(release, 1e-3, tmp_path, placeholder="<style>")
    with pytest.raises(DataError, match="<style> is 16 wide, the model's words are 768"):
        read_embedding(path, dimension=768)
    save_file({"<a>": torch.zeros(2), "<b>": torch.zeros(2)}, tmp_path / "two.safetensors")
    with pytest.raises(DataError, match="holds 2 tensors"):
        read_embedding(tmp_path / "two.safetensors", dimension=2)
    path.write_bytes(b"no tensors")
    with pytest.raises(DataError, match="cannot be read as safetensors"):
        read_embedding(path, dimension=16)
