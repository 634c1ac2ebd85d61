"""Textual Inversion, one embedding for each private picture, and their private aggregate.

``pipelines`` checks a diffusers pipeline, ``model`` is its frozen loss with one vector for each picture, ``draws`` the
random numbers of each picture, ``optimize`` the batched optimization, ``checkpoints`` what survives an interruption.
``aggregate`` bounds the vectors and adds the noise, ``releases`` is what that returns, ``export`` writes the embedding
and its certificate, ``own_images`` checks a reader's folder.
"""
