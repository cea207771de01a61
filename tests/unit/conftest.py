"""Generated tests have no deadline: how long an example takes is the machine's business.

``make unit`` takes the profile "unit": few examples, as it is to end within ten seconds.
"""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.register_profile("unit", deadline=None, max_examples=10)
settings.load_profile("no deadline")
