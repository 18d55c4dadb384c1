"""The quantile-propagation paper [Zhang et al. 2020]: from its experiments to tables, figures and verdicts.

``protocols``, ``fits``, ``scored``, ``vb_released``, ``cell``
    fit and test a fold under a named protocol;
``jobs``, ``steps``, ``collect``, ``records``, ``lines``, ``rerun``, ``reads``
    turn a configuration into jobs, run them, fold their files into records and define the rows of these,
    repeat recorded fits, and state which records a result depends on;
``published``, ``pairs``, ``paired``
    the printed numbers; EP's and QP's fits matched fold by fold, and their differences;
``table1``
    Table 1: its rows, its pages, its distance from the printed one;
``claims``
    the verdicts;
``truth``, ``nearer``
    the exact posterior compared with EP, QP and VB, and approximations nearer to it than EP;
``lookup``, ``differences``, ``timing``
    small studies: lookup tables, the paper's text against its code one choice at a time, seconds;
``figures``, ``paired_figure``, ``artifacts``
    the drawings of Table 1, and all tables, figures and the chapter of the audit from the records.
"""
