"""Sets of whole numbers as short text."""

import pytest

from papers.core import spans


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([2, 0, 1, 5], "0-2,5"), ([0, 1], "0-1"), ([10, 12, 11], "10-12")],
)
def test_spans_name_every_number(numbers, text):
    assert spans.spans(numbers) == text
