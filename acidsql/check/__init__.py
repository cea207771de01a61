"""CHECK TABLE: what is wrong with a table's names and files."""
