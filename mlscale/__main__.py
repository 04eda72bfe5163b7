"""Run the command line as ``python -m mlscale``."""

from mlscale.cli.main import main

if __name__ == "__main__":
    main()
