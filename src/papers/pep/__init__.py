"""The Power-EP paper: experiments, tables, figures and verdicts.

``regression``, ``classification``, ``digits``, ``toy``
    the experiments of jobs; ``jobs`` lists the jobs of a configuration, ``records`` defines their results;
``limits``, ``dense``, ``banana``
    small studies; like ``digits`` and ``toy``, each with its record, verdict, table or figure;
``scores``, ``compare``
    the compared scores with their units, and their aggregation: differences, wins, ranks, means;
``tables``, ``figures``, ``claims``
    pages, pictures (``looks``: their shared elements), and verdicts on claims; ``published`` has the printed
    numbers;
``artifacts``
    the list of all of these, with the rows that each needs.
"""
