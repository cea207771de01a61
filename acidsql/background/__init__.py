"""Work that no statement waits for: compactions, cleaning, housekeeping. One call is one round."""
