"""The parts that pages of HTML are made of: markup, plots, charts, and the page around them."""
