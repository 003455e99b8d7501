"""`python -m bfenv` is the command `bfenv`, also where scripts are not on the path."""

from bfenv.cli import main

if __name__ == "__main__":
    main()
