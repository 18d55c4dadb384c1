"""The PESC paper: two experiments, their rows, and the claims, tables and figures made of these.

``accuracy``, ``searches``
    the experiments with their studies: EP against rejection sampling, searches for a constrained minimum;
``records``, ``jobs``
    the list of the experiments (one more is a module, an entry there, and a section in the schema of the
    configuration), and the jobs that a configuration asks for;
``claims``, ``formulas``
    the verdicts of the audit;
``tables``, ``figures``, ``artifacts``
    tables and figures, and all of them from the records.
"""
