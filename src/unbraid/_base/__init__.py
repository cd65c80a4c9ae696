"""The layer below everything; imports nothing of unbraid."""
