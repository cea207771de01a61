"""Background work that runs by itself: when each kind is due, in which thread, and how it fares."""
