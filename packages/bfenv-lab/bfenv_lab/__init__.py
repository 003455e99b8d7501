"""bfenv for finding new schedulers: searches, evolution, RLScheduler's simulator.

`bfenv_lab.search` looks for an order of EASY, by evolution of numbers or of formulas.
`bfenv_lab.scoring` scores what it finds. `bfenv_lab.rlscheduler` has the rules and the published
networks of RLScheduler.
"""
