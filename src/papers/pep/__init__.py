"""Results of the Power-EP paper's experiments: from the compact records to tables and figures.

``forms``, ``records``
    one line a fit: the committed form, and the frame everything below works on;
``rerun``
    a sample of the regressions, fitted again;
``scores``
    what is compared, in which unit, the names of sets and powers, and what a frame covers;
``compare``
    the one aggregation: paired differences, shares of wins, ranks, means;
``tables``, ``curves``, ``duels``, ``ranking``
    the artifacts (``words`` holds their captions);
``inference``, ``claims``, ``limits``
    the audit;
``dense``, ``pseudo_points``
    small studies of classification, their figures and claims;
``starts``
    where a search starts, and how much that matters;
``toy``, ``toy_figures``
    exact regression with true and with learned hyperparameters;
``mnist``, ``mnist_tables``, ``mnist_figures``, ``mnist_claims``
    even against odd digits;
``artifacts``
    compact records to all of them.
"""
