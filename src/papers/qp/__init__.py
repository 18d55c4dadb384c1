"""The quantile-propagation paper [Zhang et al. 2020]: from its experiments to tables, figures and verdicts.

``protocols``, ``fits``, ``ep_released``, ``vb_released``
    fit and test a fold under a named protocol;
``jobs``, ``records``, ``lines``
    turn a configuration into jobs, define the rows that their files become;
``refit``
    fit single folds: by the command ``tilted fit``, and to repeat recorded fits;
``published``, ``pairs``
    the printed numbers; fits of two methods matched fold by fold, and their differences;
``table1``
    Table 1: its rows, its pages, its distance from the printed one;
``accuracy``
    the exact posterior compared with EP, QP and VB, and with approximations nearer to it than EP;
``lookup``, ``differences``, ``timing``
    small studies: lookup tables, the paper's text against its code one choice at a time, seconds;
``claims``
    the rules of the verdicts;
``results``, ``figures``, ``artifacts``
    the rows of a folder, the drawings of Table 1, and the list of all tables, figures and claims.
"""
