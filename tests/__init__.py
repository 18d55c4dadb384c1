"""A package, so that no dependency that installs a package of this name (baycomp does) stands before it."""
