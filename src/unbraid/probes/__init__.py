"""Everything that is fitted to predict a factor from codes."""
