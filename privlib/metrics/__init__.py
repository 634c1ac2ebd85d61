"""Measuring instruments for generated images: features, distances between sets, class probabilities."""
