"""CHECK TABLE: finds problems of a table's names and files."""
