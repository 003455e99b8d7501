"""Genetic programming over the orders of EASY: tournaments, crossover, mutation, parsimony.

J. R. Koza, "Genetic Programming", 1992; parsimony and tuned constants as in R. Poli, W. B. Langdon
and N. F. McPhee, "A Field Guide to Genetic Programming", 2008, sections 11.3 and 12.
"""

from typing import NamedTuple

import numpy as np

from bfenv.agents.search.template import Template
from bfenv.agents.search.trees import (
    Limits,
    Tree,
    crossed,
    depth,
    mutated,
    parse_tree,
    random_tree,
    rounded,
    simplified,
    size,
    tree_text,
)

# Orders that are known to do well: the first individuals, besides random ones.
STARTS = (
    "-expansion * ((wait + user_runtime) / user_runtime / (user_runtime * same_estimate_runtime))"
    " ** 0.14",
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
    """An order, and where the tuned options are in their ranges."""

    order: Tree
    point: tuple[float, ...]


class GeneticSearch:
    """A population of formulas; `ask` for policies to score, then `tell` their scores."""

    def __init__(
        self,
        template: Template,
        generator: np.random.Generator,
        population: int,
        starts: tuple[str, ...] = (),
        limits: Limits = Limits(),  # noqa: B008  # it is immutable
    ) -> None:
        self.template, self.generator, self.limits = template, generator, limits
        trees = [parse_tree(text) for text in (*starts, *STARTS)][:population]
        self.population = [Individual(tree, self._random_point()) for tree in trees]
        while len(self.population) < population:
            tree = self.population[int(generator.integers(len(trees)))].order
            tree = mutated(generator, tree, limits) if generator.random() < 0.5 else None
            self._add(self.population, tree or random_tree(generator, limits), None)

    def ask(self) -> list[str]:
        """Return the expressions of the population's policies."""
        return [
            self.template.policy(tree_text(each.order), each.point) for each in self.population
        ]

    def tell(self, scores: list[float]) -> None:
        """Make the next generation, given the score of each individual; lower is better."""
        generator = self.generator
        cost = [
            score + PARSIMONY * size(each.order)
            for score, each in zip(scores, self.population, strict=True)
        ]
        ranked = sorted(range(len(cost)), key=lambda i: (cost[i], i))
        chosen: list[Individual] = []
        for i in ranked:
            if len(chosen) < ELITE and self.population[i] not in chosen:
                chosen.append(self.population[i])
        while len(chosen) < len(self.population):
            one, other = (self.population[self._tournament(ranked)] for _ in range(2))
            if generator.random() < CROSSOVER:
                tree = crossed(generator, one.order, other.order)
            else:
                tree = mutated(generator, one.order, self.limits)
                if generator.random() < 0.3:
                    tree = mutated(generator, tree, self.limits)
            self._add(chosen, tree, one.point)
        self.population = chosen

    def _tournament(self, ranked: list[int]) -> int:
        return ranked[int(self.generator.integers(len(ranked), size=TOURNAMENT).min())]

    def _add(
        self, individuals: list[Individual], tree: Tree, point: tuple[float, ...] | None
    ) -> None:
        """Add a tree, unless it is too large or there already."""
        tree = simplified(tree)
        if point is None:
            point = self._random_point()
        elif self.generator.random() < 0.5:
            change = STEP * self.generator.normal(size=len(point))
            point = tuple(
                rounded(min(1.0, max(0.0, a + b))) for a, b in zip(point, change, strict=True)
            )
        made = Individual(tree, point)
        fits = size(tree) <= self.limits.nodes and depth(tree) <= self.limits.depth
        if fits and isinstance(tree, tuple) and made not in individuals:
            individuals.append(made)

    def _random_point(self) -> tuple[float, ...]:
        return tuple(rounded(place) for place in self.generator.random(len(self.template.tuned)))
