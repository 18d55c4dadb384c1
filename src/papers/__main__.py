"""Run the command `tilted` as ``python -m papers``."""

from papers.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
