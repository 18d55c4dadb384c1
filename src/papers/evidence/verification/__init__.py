"""A sample of the records made again, and what may be believed by it.

``verify``
    draws the sample and has it made again;
``again``, ``outcome``
    a line beside its record, number by number, and what became of it;
``verified``
    the file of that, appended to;
``standing``
    what may be believed of each group, said beside tables and verdicts.
"""
