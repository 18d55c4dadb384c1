"""Functions that tests of several folders share."""

from contextlib import contextmanager

import numpy as np
import yaml


def columns(rows, *names):
    """Columns of reference values, as numbers."""
    return [np.array([float(row[name]) for row in rows]) for name in names]


def differences(function, at, h=1e-5):
    """Derivatives of a function in each entry of ``at``, by central differences; those of a vector last."""
    steps = h * np.eye(at.size).reshape(at.size, *at.shape)
    slopes = np.array([(function(at + s) - function(at - s)) / (2 * h) for s in steps])
    return slopes.reshape(at.shape) if slopes.ndim == 1 else slopes.T


@contextmanager
def editing(home):
    """The registry of a data folder, to be changed; it is written when that is done."""
    path = home / "sources.yaml"
    registry = yaml.safe_load(path.read_text(encoding="utf-8"))
    yield registry
    path.write_text(yaml.safe_dump(registry), encoding="utf-8")
