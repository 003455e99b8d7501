"""What the tests of bfenv-lab share: a toy to search for, and an oracle."""
