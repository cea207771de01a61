"""Background verbs against the ports."""
