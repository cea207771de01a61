"""One statement carried out: its names, snapshot, locks, job and commit."""
