"""Seven approximations compared with the exact posterior, some of them nearer to it than EP."""
