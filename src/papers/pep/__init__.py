"""The Power-EP paper: from its experiments to tables, figures and verdicts.

``regression``, ``classification``, ``digits``, ``toy``
    the experiments; ``jobs`` lists what a configuration asks of them, ``records`` holds what they made;
``scores``, ``compare``
    what is compared, in which unit, and the one aggregation of all of it: differences, wins, ranks, means;
``tables``, ``figures`` (``curves``, ``duels``, ``looks``)
    the artifacts;
``claims`` (``synthetic``, ``contests``)
    the verdicts, ``published`` the printed numbers;
``limits``, ``dense``, ``banana``, ``starts``, ``digits_results``
    small studies, each with its record, verdict, table or figure;
``artifacts``
    records to all of them.
"""
