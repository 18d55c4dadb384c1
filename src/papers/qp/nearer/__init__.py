"""Seven approximations beside the exact posterior: which are nearer to it than EP."""
