"""Explorer: a local web app that shows codes, decoders and studies."""
