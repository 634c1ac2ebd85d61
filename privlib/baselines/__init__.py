"""What the private aggregate is compared with: one shared embedding, trained by DP-SGD or without privacy."""
