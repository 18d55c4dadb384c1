"""The code that the four papers share: records, runs, comparisons, verdicts, pages and figures.

``study``, ``records``, ``runs``, ``merge``, ``store``, ``kept``, ``slices``
    one kind of record: what its lines hold, the folder of all, what made them, how new ones come in, and what
    of them a claim is made of;
``verification``
    a sample of the lines made again, what became of each, and what may be believed by it;
``metrics``, ``statistics``, ``comparisons``, ``verdicts``, ``claims``, ``audit``
    scores, paired comparisons of them, and verdicts by the rules of ``claims.yaml``;
``grid``, ``spans``, ``style``, ``figure_data``, ``parts``
    numbers as pages and figures;
``jobs``, ``provenance``, ``resources``, ``files``
    what the workflow asks for and needs.
"""
