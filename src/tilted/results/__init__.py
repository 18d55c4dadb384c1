"""Results: from the records of single fits to the tables, figures and report of a paper.

The rooms, in reading order:

``store``
    records as gzipped JSON lines, written atomically, and the atomic writer all others use;
``published``
    the names and numbers a paper printed, and the comparison with ours;
``aggregate``
    records to rows: means and spreads over seeds, what was left out, what did not converge;
``pairs``
    predictive variances of two methods matched test point by test point;
``tables``, ``figures``, ``report``
    the artifacts (``style`` holds the look of every figure).

Nothing here repairs a record. A fit that failed is counted and listed, never averaged over.
"""
