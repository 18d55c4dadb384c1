"""Table 1: its rows, its pages, its distance from the printed one."""
