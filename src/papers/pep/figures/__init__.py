"""The figures of the Power-EP paper by number."""
