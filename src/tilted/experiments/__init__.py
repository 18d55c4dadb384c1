"""One file a paper: (data, protocol, split, method, seed) to flat records."""
