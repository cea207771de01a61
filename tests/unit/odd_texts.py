"""Texts of characters that are easily got wrong."""

from hypothesis import strategies as st

QUOTES_AND_ESCAPES = "'\"`\\/%{}()[]$"
BLANKS_AND_CONTROLS = " \t\r\n\0\x1f\x7f\x85\u00a0\u2028"
OTHER_LETTERS = "éßİı漢\u0301\u200f\ufffd😀\U0010ffff"


def odd_texts(max_size: int) -> st.SearchStrategy[str]:
    """From a short list: all of Unicode takes seconds to load in a fresh clone."""
    alphabet = "aZ09_.,;:-=" + QUOTES_AND_ESCAPES + BLANKS_AND_CONTROLS + OTHER_LETTERS
    return st.text(alphabet, max_size=max_size)
