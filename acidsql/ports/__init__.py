"""The ports: the interfaces through which the core uses catalog, store, storage and engine."""
