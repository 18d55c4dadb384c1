"""The quantile-propagation paper [Zhang et al. 2020]: from its experiments to tables, figures and verdicts.

``protocols``, ``fits``, ``scored``, ``vb_released``, ``cell``
    a fold fitted and tested under a named protocol; ``jobs`` and ``steps`` are what a configuration asks of
    them, ``collect`` folds what they made into ``records`` (``lines``), ``rerun`` makes it again, ``reads``
    is what is made of it;
``published``, ``pairs``, ``paired``
    the printed numbers; EP's fits beside QP's, fold by fold, and their differences;
``table1``
    Table 1: its rows, its pages, how near it comes to the printed one;
``claims``
    the verdicts;
``truth``, ``nearer``
    the exact posterior: EP, QP and VB beside it, and what is nearer to it than EP;
``lookup``, ``differences``, ``timing``
    small studies: lookup tables, the paper's text against its code one choice at a time, seconds;
``figures``, ``paired_figure``, ``artifacts``
    the drawings of Table 1, and records to all tables, figures and the chapter of the audit.
"""
