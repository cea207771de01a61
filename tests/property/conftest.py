"""Generated tests have no deadline: how long an example takes is the machine's business."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
