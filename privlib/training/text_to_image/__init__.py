"""The bundled text-to-image model: captions, vocabulary, autoencoder, diffusion, and how they are put together."""
