"""Denoisers: ``denoiser(x, sigma) -> x0_hat``, the expected clean image given a noisy one.

``x`` has shape (batch, channels, height, width) on the unit scale, ``sigma`` shape () or (batch,), the result the
shape, dtype and device of ``x``.
"""
