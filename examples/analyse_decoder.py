"""Which latents of a decoder matter, and which move the data together? No labels are needed."""

import torch

import unbraid


class Decoder(torch.nn.Module):
    """Stands in for yours: the first latent moves everything, the second a little, the third nothing."""

    def forward(self, z):
        """Turn three latents into six numbers."""
        first, second = z[:, :1], z[:, 1:2]
        return torch.cat([3 * first, 2 * first.tanh(), 0.5 * second, 0 * z], dim=1)


found = unbraid.manifold.analyze(Decoder(), latent_dim=3, n_samples=200)
print("latents by importance:", found.order.tolist())
print("active:", found.active.tolist())
print(f"total correlation {found.total_correlation:.3f}, effective dimension {found.effective_dimension:.2f}")
