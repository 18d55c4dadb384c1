"""The Power-EP paper: from its experiments to tables, figures and verdicts.

``regression``, ``classification``, ``digits.training``, ``toy``
    the experiments (``made_up``, ``data_sets``: their sets); ``jobs`` lists what a configuration asks of
    them, ``records`` holds what they made, ``reads`` is what is made of it;
``scores``, ``compare``
    what is compared, in which unit, and the one aggregation of all of it: differences, wins, ranks, means;
``tables``, ``figures``
    the artifacts;
``claims``
    the verdicts, ``published`` the printed numbers;
``limits``, ``dense``, ``banana``, ``digits.results``
    small studies, each with its record, verdict, table or figure;
``artifacts``
    records to all of them.
"""
