"""Samplers: from noise to images under a mechanism that the run is charged as.

``hybrid`` holds the samplers (one random block for each output, a fresh block at each step, all records, and one
denoiser without a private part), ``batched`` long runs that can be interrupted, ``window`` paths with steps that are
changed. Beneath them: ``steps`` (single updates), ``path`` (the loops), ``noise`` and ``subsampling`` (randomness),
``runs`` (what a run returns), ``trajectory`` (an observer for figures).
"""
