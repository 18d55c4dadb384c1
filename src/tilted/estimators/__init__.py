"""scikit-learn estimators: classifiers, dense and sparse, a regressor of counts and a sparse regressor.

``fit`` checks its data and hands them to the functions of ``tilted.api`` (dense), ``tilted.learning.sparse``
and ``tilted.learning.regression`` (sparse), and to ``tilted.learning.mean`` for a learned prior mean; nothing
is computed here that these do not compute.
"""

from tilted.estimators.classifiers import GPClassifier, SparseGPClassifier
from tilted.estimators.regressors import GPPoissonRegressor, SparseGPRegressor

__all__ = ["GPClassifier", "GPPoissonRegressor", "SparseGPClassifier", "SparseGPRegressor"]
