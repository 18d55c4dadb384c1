"""Fixtures of the tests of data."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[3] / "data"


@pytest.fixture
def home(tmp_path):
    """A data folder of its own, so that downloads do not touch the checkout."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("sources.yaml", "coal_counts.csv"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    return folder
