"""What makes codes and decoders: networks, flows, objectives and training; needs torch."""
