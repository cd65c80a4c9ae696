"""What is returned; below metrics, knows neither panel nor HTML."""
