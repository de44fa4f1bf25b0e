"""`python -m evalframe` is the command line."""

from evalframe.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
