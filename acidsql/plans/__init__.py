"""Plans: what will be done, as frozen data, without any tree of the SQL parser."""
