"""The claims of the Power-EP paper, judged."""
