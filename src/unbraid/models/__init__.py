"""What makes codes and decoders: networks, objectives and training."""
