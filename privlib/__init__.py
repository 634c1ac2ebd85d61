"""privlib: what the sampling process of a diffusion model costs in privacy, and executable reproductions around it."""

import warnings

__version__ = "0.1.0"

# tqdm, which diffusers and open_clip import, warns in every notebook without widgets; bars belong to the terminal here.
warnings.filterwarnings("ignore", message="IProgress not found")
