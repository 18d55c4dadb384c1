"""Table 1: its rows, its pages, how near it comes to the printed one."""
