"""Results of the PESC paper's experiments: from two studies to tables and figures.

``claims``
    what the audit says;
``tables``, ``figures``
    accuracy of EP against rejection sampling, and how fast searches come near the minimum;
``artifacts``
    the studies to all of them.
"""
