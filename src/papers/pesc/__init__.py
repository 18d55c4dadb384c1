"""The PESC paper: two experiments, their rows, and the claims, tables and figures made of these.

``accuracy``, ``regret``
    the experiments with their studies: EP against rejection sampling, searches for a constrained minimum;
``records``, ``jobs``
    lists of the studies, and of the jobs that a configuration asks for;
``claims``, ``formulas``
    the verdicts of the audit;
``tables``, ``figures``, ``artifacts``
    tables and figures, and all of them from the records.
"""
