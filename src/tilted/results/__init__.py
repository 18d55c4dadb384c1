"""Results: from the records of single fits to the tables, figures and report of a paper.

The rooms, in reading order:

``store``
    fit records as gzipped JSON lines, written atomically, and the atomic writer all others use;
``compact``
    one line a fit: the committed form, and the frame everything below works on;
``collect``, ``pairs``, ``runs``, ``merge``
    fit records to compact ones, which EP fit stands beside a QP fit, where each seed comes from,
    and new fits into the records already there;
``published``
    the names and numbers a paper printed, and the comparison with ours;
``aggregate``, ``gaps``, ``fidelity``, ``summary``
    frames to rows: means and spreads over seeds, QP against EP, ours against tolerances, all at once;
``tables``, ``latex``, ``figures``, ``report``
    the artifacts (``grid``, ``spans``, ``troubles``, ``style``, ``captions`` hold their look and words);
``artifacts``
    compact records to all of them;
``excerpt``
    their tables where a document quotes them;
``pep``
    records of the Power-EP paper's regressions, and where their searches start;
``plan``
    what a configuration will cost, from what its kind of fits took.

Nothing here repairs a record. A fit that failed is counted and listed, never averaged over.
"""
