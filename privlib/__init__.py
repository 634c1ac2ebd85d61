"""privlib: what the sampling process of a diffusion model costs in privacy, and executable reproductions around it."""

__version__ = "0.1.0"
