"""What nobody waits for: compactions, cleaning, housekeeping. One call is one round."""
