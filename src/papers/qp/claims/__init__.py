"""The claims of the QP paper, judged."""
