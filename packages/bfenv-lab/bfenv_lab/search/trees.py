"""Expression trees: formulas in the grammar of `bfenv.knowledge.expressions`, as data to vary.

A tree is a number, the name of a quantity, or a tuple of a symbol and its one or two arguments:
`("*", "size", ("log", "estimate"))` is size * log(estimate). Trees are equal if their texts are.
"""

import ast
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bfenv.knowledge.expression_program import parse_expression
from bfenv.knowledge.user_history import NAMES

Tree = float | str | tuple[Any, ...]
Path = tuple[int, ...]  # which argument to follow at each step from the root

INFIX: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "**": ast.Pow,
}
COMPARISONS: dict[str, type[ast.cmpop]] = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE}
UNARY = ("log", "exp", "sqrt", "abs")
SYMBOLS = {kind: symbol for symbol, kind in (INFIX | COMPARISONS).items()}
DIGITS = 4  # significant digits of a number
LARGEST = 1e12  # numbers are at most this, so that they stay readable

# What random trees are made of, with weights. A power has a number as its exponent.
DRAWN = {
    "+": 2,
    "-": 2,
    "*": 4,
    "/": 4,
    "**": 2,
    "min": 1,
    "max": 1,
    "<": 0.5,
    ">": 0.5,
    "log": 1,
    "sqrt": 1,
}
# Not those that order jobs by hand or at random, and not the limit, which only a guard sets
QUANTITIES = tuple(
    name for name in NAMES if name not in ("submit", "priority", "age_limit", "random")
)
# Those that vary where no users are named
WITHOUT_USERS = tuple("size estimate processors wait expansion tried free fits backlog".split())


class Limits(NamedTuple):
    """How large trees may become, and which quantities they use."""

    nodes: int = 30
    depth: int = 8
    quantities: tuple[str, ...] = QUANTITIES


def parse_tree(text: str) -> Tree:
    """Read an expression as a tree.

    Raises PolicyError if it cannot be read; the message points at the column.
    """
    parse_expression(text)
    return _from_ast(ast.parse(text.strip(), mode="eval").body)


def _from_ast(node: ast.expr) -> Tree:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float), "`parse_expression` takes numbers only"
        return float(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp):
        inner = _from_ast(node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        return -inner if isinstance(inner, float) else ("neg", inner)
    if isinstance(node, ast.BinOp):
        return SYMBOLS[type(node.op)], _from_ast(node.left), _from_ast(node.right)
    if isinstance(node, ast.Compare):
        return SYMBOLS[type(node.ops[0])], _from_ast(node.left), _from_ast(node.comparators[0])
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    first, *arguments = map(_from_ast, node.args)
    if not arguments:
        return node.func.id, first
    for argument in arguments:
        first = node.func.id, first, argument
    return first


def tree_text(tree: Tree) -> str:
    """Write a tree as an expression; `parse_tree` reads it back."""
    return ast.unparse(ast.fix_missing_locations(_to_ast(tree)))


def _to_ast(tree: Tree) -> ast.expr:
    if isinstance(tree, str):
        return ast.Name(tree)
    if not isinstance(tree, tuple):
        number = ast.Constant(int(abs(tree)) if float(tree).is_integer() else abs(tree))
        return ast.UnaryOp(ast.USub(), number) if tree < 0 else number
    symbol, *arguments = tree
    parts = [_to_ast(argument) for argument in arguments]
    if symbol == "neg":
        return ast.UnaryOp(ast.USub(), parts[0])
    if symbol in INFIX:
        return ast.BinOp(parts[0], INFIX[symbol](), parts[1])
    if symbol in COMPARISONS:
        return ast.Compare(parts[0], [COMPARISONS[symbol]()], [parts[1]])
    return ast.Call(ast.Name(symbol), parts, [])


def names_of(tree: Tree) -> set[str]:
    """Return the quantities that a tree is about."""
    leaves = (subtree(tree, path) for path in paths(tree))
    return {leaf for leaf in leaves if isinstance(leaf, str)}


def rounded(number: float) -> float:
    """Return a number with DIGITS digits, at most LARGEST in magnitude."""
    return float(f"{max(-LARGEST, min(LARGEST, number)):.{DIGITS}g}")


def size(tree: Tree) -> int:
    """Return the number of nodes."""
    return 1 + sum(map(size, tree[1:])) if isinstance(tree, tuple) else 1


def depth(tree: Tree) -> int:
    """Return the number of nodes on the longest path from the root."""
    return 1 + max(map(depth, tree[1:])) if isinstance(tree, tuple) else 1


def paths(tree: Tree, prefix: Path = ()) -> Iterator[Path]:
    """Yield the paths to all nodes, the root first."""
    yield prefix
    if isinstance(tree, tuple):
        for i, argument in enumerate(tree[1:], 1):
            yield from paths(argument, (*prefix, i))


def subtree(tree: Tree, path: Path) -> Tree:
    """Return the tree below a path."""
    for i in path:
        tree = tree[i]  # type: ignore[index]  # paths lead through tuples
    return tree


def with_subtree(tree: Tree, path: Path, part: Tree) -> Tree:
    """Return the tree with another one below a path."""
    if not path:
        return part
    assert isinstance(tree, tuple), "paths lead through tuples"
    i = path[0]
    return (*tree[:i], with_subtree(tree[i], path[1:], part), *tree[i + 1 :])


def random_tree(generator: np.random.Generator, limits: Limits, levels: int = 4) -> Tree:
    """Draw a tree of at most `levels` levels."""
    if levels <= 1 or generator.random() < 0.2:
        return _random_leaf(generator, limits)
    weights = np.array(list(DRAWN.values()), dtype=float)
    symbol = str(generator.choice(list(DRAWN), p=weights / weights.sum()))
    left = random_tree(generator, limits, levels - 1)
    if symbol in UNARY:
        return symbol, left
    if symbol == "**":
        return symbol, left, rounded(float(generator.normal()))
    return symbol, left, random_tree(generator, limits, levels - 1)


def _random_leaf(generator: np.random.Generator, limits: Limits) -> Tree:
    if generator.random() < 0.25:
        return rounded(math.exp(generator.uniform(math.log(0.01), math.log(1e5))))
    return str(generator.choice(limits.quantities))


def crossed(generator: np.random.Generator, first: Tree, second: Tree) -> Tree:
    """Return a tree with one of its parts replaced by a part of another tree."""
    part = subtree(second, _random_path(generator, second))
    return with_subtree(first, _random_path(generator, first), part)


def mutated(generator: np.random.Generator, tree: Tree, limits: Limits) -> Tree:
    """Change a tree at one place: a number, a symbol or a leaf, a part, or a part left out."""
    change = generator.random()
    if change < 0.4 and any(isinstance(subtree(tree, path), float) for path in paths(tree)):
        return _with_other_number(generator, tree)
    path = _random_path(generator, tree)
    part = subtree(tree, path)
    if change < 0.6:
        if not isinstance(part, tuple):
            return with_subtree(tree, path, _random_leaf(generator, limits))
        symbols = [symbol for symbol in DRAWN if (symbol in UNARY) == (len(part) == 2)]
        return with_subtree(tree, path, (str(generator.choice(symbols)), *part[1:]))
    if change < 0.75 and isinstance(part, tuple):  # shrink
        return with_subtree(tree, path, part[int(generator.integers(1, len(part)))])
    if change < 0.85:  # grow
        grown = ("*", part, ("**", _random_leaf(generator, limits), rounded(generator.normal())))
        return with_subtree(tree, path, grown)
    return with_subtree(tree, path, random_tree(generator, limits, 3))


def _with_other_number(generator: np.random.Generator, tree: Tree) -> Tree:
    """Scale one of the numbers; now and then change its sign."""
    numbers = [path for path in paths(tree) if isinstance(subtree(tree, path), float)]
    path = numbers[int(generator.integers(len(numbers)))]
    value = subtree(tree, path)
    assert isinstance(value, float)
    value = value * math.exp(0.4 * generator.normal()) if value else float(generator.normal())
    return with_subtree(tree, path, rounded(-value if generator.random() < 0.05 else value))


def _random_path(generator: np.random.Generator, tree: Tree) -> Path:
    """Draw a node; one with arguments nine times out of ten, if there are any."""
    candidates = list(paths(tree))
    inner = [path for path in candidates if isinstance(subtree(tree, path), tuple)]
    if inner and generator.random() < 0.9:
        candidates = inner
    return candidates[int(generator.integers(len(candidates)))]


def numbers_of(tree: Tree) -> list[float]:
    """Return the numbers in a tree, from left to right."""
    return [part for path in paths(tree) if isinstance(part := subtree(tree, path), float)]


def with_numbers(tree: Tree, values: Callable[[int, float], float]) -> Tree:
    """Return the tree with number i, from left to right, replaced by `values(i, number)`."""
    places = [path for path in paths(tree) if isinstance(subtree(tree, path), float)]
    for i, path in enumerate(places):
        number = subtree(tree, path)
        assert isinstance(number, float)
        tree = with_subtree(tree, path, values(i, number))
    return tree


def simplified(tree: Tree) -> Tree:
    """Calculate the parts that have only numbers in them, where the result is one."""
    if not isinstance(tree, tuple):
        return tree
    symbol, *arguments = (tree[0], *map(simplified, tree[1:]))
    if all(isinstance(argument, float) for argument in arguments) and symbol in FOLDED:
        try:
            value = FOLDED[symbol](*arguments)
            if not isinstance(value, complex) and abs(value) < LARGEST:
                return rounded(float(value))
        except (ArithmeticError, ValueError):
            pass
    return (symbol, *arguments)


FOLDED: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "min": min,
    "max": max,
    "neg": lambda a: -a,
    "log": math.log,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "abs": abs,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
