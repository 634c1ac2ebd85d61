"""Text-to-image pipelines in the layout of diffusers: read with messages that name what is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from privlib.data.locate import DataError

if TYPE_CHECKING:
    from diffusers import StableDiffusionPipeline

#: Parts that textual inversion works with, each a folder of the pipeline's own.
COMPONENTS = ("tokenizer", "text_encoder", "unet", "vae", "scheduler")


@contextlib.contextmanager
def without_bars() -> Iterator[None]:
    """Keep diffusers and transformers from drawing bars and making remarks."""
    import diffusers.utils.logging
    import transformers.utils.logging

    loggers = (diffusers.utils.logging, transformers.utils.logging)
    before = [(logger.is_progress_bar_enabled(), logger.get_verbosity()) for logger in loggers]
    for logger in loggers:
        logger.disable_progress_bar()
        logger.set_verbosity_error()
    try:
        yield
    finally:
        for logger, (bars, verbosity) in zip(loggers, before, strict=True):
            logger.set_verbosity(verbosity)
            if bars:
                logger.enable_progress_bar()


def load_pipeline(folder: str | Path) -> StableDiffusionPipeline:
    """A ``StableDiffusionPipeline`` from a local folder, without a safety checker, silent about progress.

    Raises:
        DataError: no such folder, a component that is missing, or files that diffusers cannot read.
    """
    from diffusers import StableDiffusionPipeline

    folder = Path(folder).expanduser()
    if not (folder / "model_index.json").is_file():
        raise DataError(f"{folder} is not a pipeline folder: it holds no model_index.json")
    missing = [name for name in COMPONENTS if not (folder / name).is_dir()]
    if missing:
        raise DataError(f"{folder} lacks {', '.join(missing)}; a pipeline folder holds {', '.join(COMPONENTS)}")
    try:
        with without_bars():
            pipeline = StableDiffusionPipeline.from_pretrained(
                folder, safety_checker=None, requires_safety_checker=False, local_files_only=True
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise DataError(f"{folder} cannot be read as a StableDiffusionPipeline: {error}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline
