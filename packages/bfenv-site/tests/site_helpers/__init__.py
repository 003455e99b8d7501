"""What the tests of bfenv-site share: logs in every format, oracles, and ways to look at pages."""
