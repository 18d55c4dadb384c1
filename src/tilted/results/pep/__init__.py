"""Results of the Power-EP paper: records, and what is made of them."""
