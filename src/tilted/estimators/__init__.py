"""scikit-learn estimators: classifiers and regressors, dense and sparse, and a regressor of counts.

``fit`` checks its data and hands them to the functions of ``tilted.api`` (dense), ``tilted.learning.sparse``
and ``tilted.learning.regression`` (sparse), and to ``tilted.learning.mean`` for a learned prior mean; nothing
is computed here that these do not compute.
"""

from tilted.estimators.classifiers import GPClassifier, SparseGPClassifier
from tilted.estimators.dense_regressor import GPRegressor
from tilted.estimators.regressors import GPPoissonRegressor, SparseGPRegressor

__all__ = ["GPClassifier", "GPPoissonRegressor", "GPRegressor", "SparseGPClassifier", "SparseGPRegressor"]
