"""Results of the Power-EP paper's regression experiments: from the compact record to tables and figures.

``records``
    one line a fit: the committed form, and the frame everything below works on;
``scores``
    what is compared, in which unit, the names of sets and powers, and what a frame covers;
``compare``
    the one aggregation: paired differences, shares of wins, ranks, means;
``tables``, ``curves``, ``duels``, ``ranking``
    the artifacts (``words`` holds their captions);
``inference``, ``claims``, ``limits``
    the audit;
``starts``
    where a search starts, and how much that matters;
``toy``, ``toy_figures``
    exact regression with true and with learned hyperparameters;
``artifacts``
    compact record to all of them.
"""
