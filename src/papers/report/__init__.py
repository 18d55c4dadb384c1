"""The whole reproduction as one page."""
