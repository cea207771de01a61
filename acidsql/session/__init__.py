"""What a user holds: a session, its scripts and transactions."""
