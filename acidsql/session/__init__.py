"""The session that a user holds, its scripts and its transactions."""
