"""Evidence from rows between which one factor alone changes."""
