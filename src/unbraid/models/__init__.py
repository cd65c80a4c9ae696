"""What makes codes: networks that give distributions, losses of distributions, a training loop; needs torch."""
