"""Studies: many models, scored and tried on tasks, on one machine or many, kept in a store, correlated."""
