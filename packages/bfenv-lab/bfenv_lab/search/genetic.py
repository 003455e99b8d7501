"""Genetic programming over the orders of EASY: tournaments, crossover, mutation, parsimony.

J. R. Koza, "Genetic Programming", 1992; parsimony and tuned constants as in R. Poli, W. B. Langdon
and N. F. McPhee, "A Field Guide to Genetic Programming", 2008, sections 11.3 and 12.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import bfenv_lab.search.trees as tr
from bfenv_lab.search.template import Template

# Orders that are known to do well: the first individuals, besides random ones.
STARTS = (
    "-expansion * ((wait + user_runtime) / user_runtime / (user_runtime * same_estimate_runtime))"
    " ** 0.14",
    "-(wait + likely_runtime) / likely_runtime / (likely_runtime * size) ** 0.3",
    "likely_runtime",
    "-predicted_expansion",
    "-expansion",
    "-(wait / estimate) ** 3 * size",
    "size * estimate",
    "user_runtime * size",
    "same_estimate_runtime - wait",
)
TOURNAMENT = 4  # individuals
ELITE = 3  # individuals that stay as they are
CROSSOVER = 0.45  # share of the offspring; the others are mutated
PARSIMONY = 5e-4  # added to the score for each node
STEP = 0.15  # standard deviation of a tuned option's change, in units of its range


class Individual(NamedTuple):
    """An order, and where the tuned numbers are in their ranges."""

    tree: tr.Tree
    point: tuple[float, ...]


class GeneticSearch:
    """A population of formulas; `ask` for policies to score, then `tell` their scores."""

    def __init__(
        self,
        template: Template,
        generator: np.random.Generator,
        population: int,
        starts: tuple[str, ...] = (),
        limits: tr.Limits = tr.Limits(),  # noqa: B008  # it is immutable
    ) -> None:
        self.template, self.generator, self.limits = template, generator, limits
        orders = [
            tree
            for tree in map(tr.parse_tree, (*starts, *STARTS))
            if tr.names_of(tree) <= set(limits.quantities)
        ]
        self.population = []
        for order in orders[:population]:
            point = tuple(map(tr.rounded, generator.random(len(template.tuned)).tolist()))
            self.population.append(Individual(order, point))
        while len(self.population) < population:
            parent = self.population[int(generator.integers(len(self.population)))]
            if generator.random() < 0.5:
                self._vary(
                    self.population, parent, lambda tree: tr.mutated(generator, tree, limits)
                )
            else:
                self._vary(self.population, parent, lambda tree: tr.random_tree(generator, limits))

    def ask(self) -> list[str]:
        """Return the expressions of the population's policies."""
        return [
            self.template.policy(tr.tree_text(individual.tree), individual.point)
            for individual in self.population
        ]

    def favorites(self) -> list[str]:
        """Return no policies: a population has no mean."""
        return []

    def tell(self, scores: list[float]) -> None:
        """Make the next generation, given the score of each individual; lower is better."""
        generator = self.generator
        cost = [
            score + PARSIMONY * tr.size(individual.tree)
            for score, individual in zip(scores, self.population, strict=True)
        ]
        ranked = sorted(range(len(cost)), key=lambda i: (cost[i], i))
        chosen: list[Individual] = []
        for i in ranked:
            if len(chosen) < ELITE and self.population[i] not in chosen:
                chosen.append(self.population[i])
        while len(chosen) < len(self.population):
            winners = (generator.integers(len(ranked), size=TOURNAMENT).min() for _ in range(2))
            first, second = (self.population[ranked[int(place)]] for place in winners)
            if generator.random() < CROSSOVER:
                crossed = partial(tr.crossed, generator, second=second.tree)
                self._vary(chosen, first, crossed)
            else:
                self._vary(chosen, first, lambda tree: tr.mutated(generator, tree, self.limits))
        self.population = chosen

    def _vary(
        self, chosen: list[Individual], parent: Individual, change: Callable[[tr.Tree], tr.Tree]
    ) -> None:
        """Add an individual with its tree changed, and perhaps its point.

        It is left out if it is too large or there already.
        """
        tree, point, limits = tr.simplified(change(parent.tree)), parent.point, self.limits
        if self.generator.random() < 0.5:
            moved = np.array(point) + STEP * self.generator.normal(size=len(point))
            point = tuple(tr.rounded(place) for place in np.clip(moved, 0.0, 1.0).tolist())
        individual = Individual(tree, point)
        small = tr.size(tree) <= limits.nodes and tr.depth(tree) <= limits.depth
        if small and isinstance(tree, tuple) and individual not in chosen:
            chosen.append(individual)
