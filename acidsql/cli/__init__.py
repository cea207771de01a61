"""The command line: run, dump, service."""
