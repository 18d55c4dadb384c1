"""The code that the four papers share.

``study``, ``records``, ``runs``, ``slices``, ``store``, ``files``, ``csv_rows``
    tables of keyed rows and their files
``repeat``, ``agreement``, ``verify``, ``verified``, ``provenance``
    rows repeated and compared with the record, and what is said about it
``metrics``, ``statistics``, ``comparisons``, ``verdicts``, ``claims``, ``audit``
    scores, paired comparisons, and verdicts by the rules of ``claims.yaml``
``grid``, ``render``, ``spans``, ``style``, ``figure_data``
    tables and figures
``jobs``, ``checkpoint``, ``resources``, ``failures``
    jobs of the workflow
"""
