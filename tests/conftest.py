"""Fixtures shared by all tests."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="session")
def values():
    """Reference values of single formulas, as numbers."""
    return json.loads((REFERENCE / "reference_values.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def cells():
    """Cells computed by the released code of the QP paper."""
    return json.loads((REFERENCE / "reference_cells.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def mirror():
    """Folder with the raw files, if this machine has one."""
    folder = os.environ.get("TILTED_DATA_MIRROR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no folder with the raw data here (TILTED_DATA_MIRROR)")
    return Path(folder).resolve()


@pytest.fixture
def toy():
    """A small classification problem that is not separable: X [30, 2], y [30]."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=30) > 0, 1.0, -1.0)
    return X, y


@pytest.fixture
def counts():
    """A small count problem: X [25, 1], y [25]."""
    rng = np.random.default_rng(11)
    X = np.linspace(0.0, 5.0, 25)[:, None]
    return X, rng.poisson((1.0 + np.sin(X[:, 0])) ** 2).astype(float)
