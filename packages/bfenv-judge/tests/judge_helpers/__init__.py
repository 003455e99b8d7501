"""What the tests of bfenv-judge share: programs that play."""
