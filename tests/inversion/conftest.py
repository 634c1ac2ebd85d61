import pytest

from privlib.inversion.model import FrozenModel
from tests.inversion import tiny


@pytest.fixture
def pipeline(tmp_path):
    return tiny.pipeline(tmp_path)


@pytest.fixture
def model(pipeline):
    """In double precision, so that only what is meant to differ does."""
    for part in (pipeline.text_encoder, pipeline.unet, pipeline.vae):
        part.double()
    return FrozenModel.from_pipeline(pipeline)
