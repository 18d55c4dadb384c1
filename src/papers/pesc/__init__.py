"""Results of the PESC paper's experiments: from two studies to tables and figures.

``claims``
    the verdicts of the audit;
``tables``, ``figures``
    accuracy of EP against rejection sampling, and speed of searches towards the minimum;
``artifacts``
    all of these from the records.
"""
