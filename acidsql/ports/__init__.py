"""What the core asks of the outside: catalog, store, storage, engine."""
