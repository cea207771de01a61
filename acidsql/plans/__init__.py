"""What will be done: frozen data, without a trace of the SQL parser."""
