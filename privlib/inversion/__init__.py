"""Textual Inversion, one embedding for each private picture, and their private aggregate.

``model`` is its frozen loss with one vector for each picture, ``draws`` the
random numbers of each picture, ``optimize`` the batched optimization, ``checkpoints`` what survives an interruption.
``aggregate`` bounds the vectors and adds the noise, ``releases`` is what that returns, ``export`` writes the embedding
(``privlib.certificates`` with its certificate), ``own_images`` checks a reader's folder. From a folder of pictures to
an embedding::

    model = FrozenModel.from_pipeline(load_pipeline("pipeline"))
    images = validate_folder("pictures", sample_size=m, side=model.image_side).unit()
    vectors = invert(model, images, settings, folder=Path("private")).vectors
    norm = float(model.word_vector(settings.initial_word).norm())
    wanted = NoisyAggregate(len(images), m, norm, 1.0, Sampling.POISSON)
    mechanism = calibrated(wanted, epsilon, delta)
    release = release_aggregate(vectors, mechanism, rng=numpy.random.default_rng())
    export_release(release.scaled_to(norm), delta, Path("out"), placeholder=settings.placeholder)

With ``epsilon = inf`` the result is ``Unprotected``, and ``export_unprotected`` writes it without a certificate.
"""
