"""Docstrings: the API reference describes every parameter and result, and its examples run.

Ruff's rules of pydocstyle and pydoclint check the rest. They cannot check this, because they know
no parameter that a module or another function describes for several functions.
"""

import dataclasses
import doctest
import inspect
import re
import sys
import typing
from importlib import import_module

import pytest

import bfenv
from bfenv.baselines import registry
from tests.conftest import ROOT

pytestmark = pytest.mark.compiled  # the examples simulate

HEADING = re.compile(r"^(Args|Returns|Yields|Raises|Examples|Notes):\n", re.M)
ENTRY = re.compile(r"^    ([^\s:(]+(?:, [^\s:(]+)*)(?: \((.+?)\))?:", re.M)
FIELD = r"^    {}: .*  # \S"  # a comment behind a field describes it, see docs/site/generate.py
ARGUMENT = re.compile(r"^ *\* `(\w+)=", re.M)  # of an environment, whose docstring is a page
ANY_KEYWORD = inspect.Parameter.VAR_KEYWORD


def unwrapped(thing):
    """The function of a kernel, a property or a class method; else the thing."""
    thing = thing.fget if isinstance(thing, property) else thing
    return getattr(thing, "py_func", getattr(thing, "__func__", thing))


@pytest.fixture(scope="module")
def public():
    """Each class, function and method that the API reference lists, by its path."""
    found = {}
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    modules = re.findall(r"automodule:: (\S+)", "".join(page.read_text() for page in pages))
    for module in map(import_module, ["bfenv", *modules]):
        for thing in (unwrapped(getattr(module, name)) for name in module.__all__):
            if inspect.isfunction(thing) or inspect.isclass(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    for path, thing in list(found.items()):
        members = vars(thing).items() if inspect.isclass(thing) else ()
        for name, member in ((name, unwrapped(member)) for name, member in members):
            if inspect.isfunction(member) and not name.startswith("_"):
                found[f"{path}.{name}"] = member
    return found


def sections(thing):
    """The sections of a docstring by their headings; the text before the first is at ''."""
    parts = HEADING.split(inspect.getdoc(thing) or "")
    return {"": parts[0].strip(), **dict(zip(parts[1::2], parts[2::2], strict=True))}


def described(thing):
    """Names in the section Args, without stars, and whether a type stands behind each."""
    entries = {
        name.strip(" *"): bool(type_)
        for names, type_ in ENTRY.findall(sections(thing).get("Args", ""))
        for name in names.split(",")
    }
    if inspect.isclass(thing) and "## Arguments" in (thing.__doc__ or ""):
        entries |= dict.fromkeys(ARGUMENT.findall(thing.__doc__), False)
    return entries


def parameters(thing):
    """Parameters of a function, or of what makes a class, by name."""
    if inspect.isclass(thing) and not is_record(thing):
        if "__init__" not in vars(thing):
            return {}
        thing = thing.__init__
    if thing is bfenv.BackfillVectorEnv.__init__:  # its signature lists what is behind **settings
        thing = types_of(thing)
    found = inspect.signature(thing).parameters
    return {name: one for name, one in found.items() if name not in ("self", "cls")}


def types_of(function):
    """A function of the same parameters as the definition of `function` has."""
    copy = type(function)(function.__code__, {})
    copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
    return copy


def keywords(one):
    """Names that a parameter like `**options: Unpack[Options]` stands for."""
    kinds = typing.get_args(one.annotation) if one.kind is ANY_KEYWORD else ()
    return set(typing.get_type_hints(kinds[0])) if kinds else set()


def said_once(thing):
    """Parameters that the module's docstring describes, for all of its functions together."""
    text = sys.modules[thing.__module__].__doc__
    shared = re.search(r"In all (?:of them|functions),(.*)", text, re.S)
    names = set(re.findall(r"`(\w+)` \(\w+\)", shared[1])) if shared else set()
    return names | (
        {"the result"} if shared and re.search(r"the\s+result is", shared[1]) else set()
    )


def said_elsewhere(thing):
    """Parameters that another function describes, which a docstring names."""
    other = re.search(r"as of `bfenv\.(\w+)`", thing.__doc__ or "")
    return set(described(getattr(bfenv, other[1]))) if other else set()


def is_record(thing):
    """Whether a class is a named tuple or a data class: its signature lists its fields."""
    return dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")


def commented(thing):
    """Fields of a record that a comment behind them describes."""
    source = inspect.getsource(thing)
    return {name for name in parameters(thing) if re.search(FIELD.format(name), source, re.M)}


def returns(thing):
    """Whether a function has a result, as far as its annotation says."""
    result = inspect.signature(thing).return_annotation
    return result not in (None, inspect.Signature.empty)


def test_every_parameter_is_described(public):
    """Those of the signature are described, no others are, and each has a type in either place."""
    faults = {path: parameter_faults(thing) for path, thing in public.items()}
    assert len(faults) > 200
    assert {path: found for path, found in faults.items() if found} == {}


def parameter_faults(thing):
    """What is wrong with the descriptions of parameters, as pairs of name and fault."""
    taken, known = parameters(thing), described(thing)
    extra = set().union(*map(keywords, taken.values()))
    missing = set(taken) - set(known)
    if is_record(thing):
        missing -= commented(thing)
    if extra & set(known):
        missing -= {name for name, one in taken.items() if keywords(one)}
    missing -= said_once(thing) | said_elsewhere(thing)
    untyped = {
        name
        for name in set(known) & set(taken)
        if not known[name] and taken[name].annotation is inspect.Parameter.empty
    }
    found = {
        "not described": missing,
        "no type": untyped,
        "unknown": set(known) - set(taken) - extra,
    }
    pairs = [(name, fault) for fault, names in found.items() for name in sorted(names)]
    return pairs if sections(thing)[""] else [*pairs, ("", "no docstring")]


def test_every_result_is_described(public):
    """In Returns or Yields, unless there are no parameters, or by the first line."""
    functions = [thing for thing in public.values() if inspect.isfunction(thing)]
    functions = [one for one in functions if parameters(one) and "return" in one.__annotations__]
    assert len(functions) > 100
    for function in functions:
        has = {"Returns", "Yields"} & set(sections(function)) or "the result" in said_once(function)
        first_line = inspect.getdoc(function).partition("\n")[0]
        said = bool(has) or bool(re.search(r"\b[Rr]eturn\b", first_line))
        assert said == returns(function), function


def test_the_examples_work(public, monkeypatch, tmp_path):
    """They print what the docstrings say; here together, so that kernels are loaded once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BFENV_TRACES", "")
    monkeypatch.setattr(registry, "_registered", {})
    failures = []
    examples = {path: sections(thing).get("Examples", "") for path, thing in public.items()}
    for path, text in examples.items():
        test = doctest.DocTestParser().get_doctest(text, {}, path, path, 0)
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        runner.run(test, out=failures.append)
        assert not text or test.examples, path
    assert sum(map(bool, examples.values())) > 40
    assert not failures, "".join(failures)
