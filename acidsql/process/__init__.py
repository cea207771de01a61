"""This process: its threads, its forks, Ctrl-C."""
