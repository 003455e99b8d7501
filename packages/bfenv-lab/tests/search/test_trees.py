"""Expression trees: text and back, and variations that stay in the grammar."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bfenv_lab.search.trees as trees
from bfenv import PolicyError
from bfenv.knowledge.expression_program import parse_expression

seeds = st.integers(0, 2**32)


def drawn(seed: int) -> trees.Tree:
    return trees.random_tree(np.random.default_rng(seed), trees.Limits(), 5)


@given(seeds)
def test_text(seed: int) -> None:
    """The text of a tree is an expression, and reads back as the same tree."""
    tree = drawn(seed)
    parse_expression(trees.tree_text(tree))
    assert trees.parse_tree(trees.tree_text(tree)) == tree


@pytest.mark.parametrize(
    "text, tree",
    [
        ("size * log(estimate)", ("*", "size", ("log", "estimate"))),
        ("-(wait / estimate)", ("neg", ("/", "wait", "estimate"))),
        ("-0.5", -0.5),
        ("+size", "size"),
        ("2 - (3 - size)", ("-", 2.0, ("-", 3.0, "size"))),
        ("min(size, wait, 3)", ("min", ("min", "size", "wait"), 3.0)),
        ("wait > 60", (">", "wait", 60.0)),
        ("(-wait) ** 2", ("**", ("neg", "wait"), 2.0)),
    ],
)
def test_parse(text: str, tree: trees.Tree) -> None:
    """Expressions become trees."""
    assert trees.parse_tree(text) == tree
    assert trees.parse_tree(trees.tree_text(tree)) == tree


def test_wrong_text() -> None:
    """What is not an expression is refused by the grammar, at its column."""
    with pytest.raises(PolicyError, match="column 8"):
        trees.parse_tree("size * __import__")


@given(seeds, seeds)
def test_variations(one: int, other: int) -> None:
    """Crossed, mutated and simplified trees are expressions, with rounded numbers only."""
    generator = np.random.default_rng(one)
    tree = trees.crossed(generator, drawn(one), drawn(other))
    tree = trees.simplified(trees.mutated(generator, tree, trees.Limits()))
    parse_expression(trees.tree_text(tree))
    assert trees.parse_tree(trees.tree_text(tree)) == tree
    assert all(float(f"{number:.4g}") == number for number in trees.numbers_of(tree))


@given(seeds)
def test_crossing_takes_a_part(seed: int) -> None:
    """A crossed tree has a part of the other where it differs."""
    generator = np.random.default_rng(seed)
    one, other = drawn(seed), drawn(seed + 1)
    found = trees.crossed(generator, one, other)
    parts = {trees.subtree(other, path) for path in trees.paths(other)}
    assert any(
        trees.with_subtree(one, path, part) == found for path in trees.paths(one) for part in parts
    )


@given(seeds)
def test_measures(seed: int) -> None:
    """Size counts the paths, depth the longest of them."""
    tree = drawn(seed)
    assert trees.size(tree) == len(list(trees.paths(tree)))
    assert trees.depth(tree) == 1 + max(map(len, trees.paths(tree)))


def test_numbers() -> None:
    """Numbers are replaced from left to right."""
    tree = trees.parse_tree("2 * size + 3 ** wait")
    assert trees.numbers_of(tree) == [2, 3]
    assert (
        trees.tree_text(trees.with_numbers(tree, lambda i, x: x * 10 + i))
        == "20 * size + 31 ** wait"
    )


def test_simplified() -> None:
    """A tree of numbers becomes its value, unless the value is not finite."""
    assert trees.simplified(trees.parse_tree("size * (2 + 3 * 4)")) == ("*", "size", 14.0)
    assert trees.simplified(trees.parse_tree("size * (1 / 0)")) == ("*", "size", ("/", 1.0, 0.0))
    assert trees.simplified(trees.parse_tree("log(0 - 1)")) == ("log", -1.0)
    assert trees.simplified(trees.parse_tree("(0 - 8) ** 0.5")) == ("**", -8.0, 0.5)
