"""The Power-EP paper: experiments, tables, figures and verdicts.

``regression``, ``classification``, ``digits.training``, ``toy``
    the experiments (``made_up``, ``data_sets``: their sets); ``jobs`` lists the jobs of a configuration,
    ``records`` defines their results;
``scores``, ``compare``
    the compared scores with their units, and their aggregation: differences, wins, ranks, means;
``tables``, ``figures``, ``claims``
    pages, pictures, and verdicts on claims; ``published`` has the printed numbers;
``limits``, ``dense``, ``banana``, ``digits.results``
    small studies, each with its record, verdict, table or figure;
``artifacts``
    the list of all of these, with the rows that each needs.
"""
