"""The agents that bfenv comes with, each a card of JSON with its proof."""
