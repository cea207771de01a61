"""Goldens in text files, and what runs them."""
