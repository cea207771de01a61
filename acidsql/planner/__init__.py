"""Statement and table → plan."""
