"""Masked arrays, as readers of netCDF give them: what lies below a mask is a filling and no number."""

import numpy as np
import pytest

from tilted import (
    GPClassifier,
    GPOrdinalClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
)

X = np.random.default_rng(0).normal(size=(30, 2))
y = (X[:, 0] > 0).astype(int)
FILLED = np.ma.masked_equal(np.where(np.arange(30)[:, None] == 3, -9999.0, X), -9999.0)
WITHOUT = np.ma.masked_array(y, mask=np.arange(30) == 3)


@pytest.mark.parametrize(
    "model",
    [
        GPClassifier(optimise=None),
        GPClassifier(multi_class="joint", optimise=None),
        GPOrdinalClassifier(optimise=None),
        GPRegressor(optimise=None),
        GPPoissonRegressor(optimise=None),
        SparseGPClassifier(n_pseudo=5, batch_size=15, optimise=None),
        SparseGPPoissonRegressor(n_pseudo=5, batch_size=15, optimise=None),
        SparseGPRegressor(n_pseudo=5, batch_size=15, optimise=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_masked_cells_are_no_numbers(model):
    with pytest.raises(ValueError, match="X has masked values"):
        model.fit(FILLED, y)
    with pytest.raises(ValueError, match="y has masked values"):
        model.fit(X, WITHOUT)
    with pytest.raises(ValueError, match="sample_weight has masked values"):
        model.fit(X, y, sample_weight=np.ma.masked_array(np.ones(30), mask=WITHOUT.mask))
    fitted = model.fit(np.ma.masked_array(X), y)  # nothing is masked
    with pytest.raises(ValueError, match="X has masked values"):
        fitted.predict(FILLED)
    if hasattr(fitted, "partial_fit"):
        with pytest.raises(ValueError, match="X has masked values"):
            fitted.partial_fit(FILLED, y)
        with pytest.raises(ValueError, match="y has masked values"):
            fitted.partial_fit(X, WITHOUT)
