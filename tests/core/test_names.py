"""The grammar of names with options, and the importer of "module:object"."""

import os.path
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bfenv.core.errors import BfenvError, PolicyError, WorkloadError
from bfenv.core.names import format_name, import_object, parse_name, read_value

WORDS = ["sjf", "none", "True", "inf", "nan", "1_000", "1e999", "0x10", "", " ", "a=b"]
BASES = ["easy", "easy++", "cons-rs", "module:object", "a.b:c", "logs/x.swf", "C:\\x"]
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15)
texts = (st.sampled_from(WORDS) | st.text(max_size=8)).filter(
    lambda text: not {"'", '"'} <= set(text)
)
values = st.recursive(
    numbers | texts | st.booleans() | st.none(),
    lambda items: st.lists(items, max_size=3).map(tuple),
    max_leaves=6,
)
options = st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True), values, max_size=4)
bases = st.sampled_from(BASES)


@given(bases, options)
def test_round_trip(base, options):
    """What `format_name` writes, `parse_name` and `read_value` read back."""
    name = parse_name(format_name(base, options))
    assert name.base == base
    read = {option: read_value(value) for option, value in name.options.items()}
    assert read == options
    assert list(map(type, read.values())) == list(map(type, options.values()))


@given(bases, options)
def test_both_forms(base, options):
    """name:option=value means what name(option=value) means."""
    assume(options)
    written = format_name(base, options)
    colon = f"{base}:{written[len(base) + 1 : -1]}"
    assert parse_name(colon) == parse_name(written)


@pytest.mark.parametrize(
    ("text", "base", "options"),
    [
        ("easy", "easy", {}),
        (" easy ( ) ", "easy", {}),
        ("easy(order=sjf, lookahead=100)", "easy", {"order": "sjf", "lookahead": "100"}),
        ("lublin:jobs=500,load=0.9", "lublin", {"jobs": "500", "load": "0.9"}),
        ("lublin: jobs = 5 , load=1", "lublin", {"jobs": "5", "load": "1"}),
        ("mine:shortest", "mine:shortest", {}),
        ("mine:shortest(limit=3)", "mine:shortest", {"limit": "3"}),
        ("mine:shortest:limit=3", "mine:shortest", {"limit": "3"}),
        ("logs/mine.swf", "logs/mine.swf", {}),
        ("logs/mine (2).swf", "logs/mine (2).swf", {}),
        ("logs/mine (2).swf:load=0.9", "logs/mine (2).swf", {"load": "0.9"}),
        ("logs/load=0.9.swf", "logs/load=0.9.swf", {}),
        (r"C:\logs\mine.swf", r"C:\logs\mine.swf", {}),
        (r"C:\logs\mine.swf:load=0.9", r"C:\logs\mine.swf", {"load": "0.9"}),
        ("C:/logs/load=1.swf", "C:/logs/load=1.swf", {}),
        ("https://a.b/c.swf?d=1", "https://a.b/c.swf?d=1", {}),
        ("f(bounds=(1,(2, 3)),x=1)", "f", {"bounds": "(1,(2, 3))", "x": "1"}),
        ("f:bounds=(1,2)", "f", {"bounds": "(1,2)"}),
        ("f(x='a,(b',y=\"it's\")", "f", {"x": "'a,(b'", "y": '"it\'s"'}),
        ("f(of=easy(order=sjf,lookahead=1))", "f", {"of": "easy(order=sjf,lookahead=1)"}),
        ("f:of=easy(order=sjf)", "f", {"of": "easy(order=sjf)"}),
        ("f(at=a:b=c)", "f", {"at": "a:b=c"}),
        ("", "", {}),
        (":", ":", {}),
    ],
)
def test_grammar(text, base, options):
    """Names, options, paths and modules are taken apart as the module's docstring says."""
    assert parse_name(text) == (base, options)


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("easy(", "easy("),
        ("easy(order=sjf", "easy(order=sjf"),
        ("easy(sjf)", "'sjf'"),
        ("easy(=sjf)", "'=sjf'"),
        ("easy(order=)", "'order='"),
        ("easy(order=sjf,)", "''"),
        ("easy(,)", "''"),
        ("easy(a b=1)", "'a b=1'"),
        ("easy(a=1,a=2)", "a is given twice"),
        ("easy(a=(1)", "parenthesis"),
        ("easy(a=1))", "parenthesis"),
        ("easy(a='x)", "quote"),
        ("easy(a=it's)", "quote"),
        (f"easy(a={'(' * 101}{')' * 101})", "more than 100 parentheses"),
        ("lublin:jobs=", "'jobs='"),
        ("lublin:jobs=1,", "''"),
        ("lublin:jobs=1,load", "'load'"),
        ("lublin:jobs=1,jobs=2", "jobs is given twice"),
        ("lublin:jobs=30:load=0.9", "separate options by commas"),
    ],
)
def test_malformed_names(text, item):
    """The error, of the given type, names the text and what is wrong with it."""
    with pytest.raises(WorkloadError) as caught:
        parse_name(text, WorkloadError)
    assert repr(text)[:50] in str(caught.value) and item in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.text("ab=,:()'\" 1.", max_size=12) | st.text(max_size=12))
def test_any_name(text):
    """Any text is a name or a BfenvError, and so is each of its values."""
    try:
        name = parse_name(text)
        for value in name.options.values():
            read_value(value)
    except BfenvError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100", 100),
        ("-5", -5),
        ("+5", 5),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("None", None),
        ("TRUE", True),
        ("false", False),
        ("()", ()),
        ("(1)", (1,)),
        ("(1,)", (1,)),
        ("(1, (2, x), 'y,z')", (1, (2, "x"), "y,z")),
        ("'12'", "12"),
        ('"none"', "none"),
        ("''", ""),
        ("sjf", "sjf"),
        ("easy(order=sjf, a=1)", "easy(order=sjf, a=1)"),
        ("inf", "inf"),
        ("-Infinity", "-Infinity"),
        ("nan", "nan"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("0" * 5000, 0),
        ("1e", "1e"),
        ("٣", "٣"),
        ("1 2", "1 2"),
    ],
)
def test_values(text, value):
    """Decimal numbers, words, tuples and quoted text are read; other text stays text."""
    read = read_value(f" {text} ")
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740992",
        "-1e16",
        "1e400",
        "9" * 5000,
        "'",
        "'a",
        "'a'b",
        "'a' 'b'",
        "\"a'",
        "(1",
        "(1))",
        "(,)",
        "(1,,2)",
        "('a)",
        "(1)+(2)",
        "(1,2)x",
        "(1e400)",
    ],
)
def test_malformed_values(text):
    """A number out of range, an open quote or parenthesis is an error of the given type."""
    with pytest.raises(PolicyError) as caught:
        read_value(text, PolicyError)
    shown = text.strip("()")[:40]
    assert shown in str(caught.value) or repr(text) in str(caught.value)


def test_format():
    """A name is written in one way; text is quoted only if it must be."""
    options = {"order": "sjf", "bounds": (1, 2), "one": (60,), "t": "1", "w": "None", "x": None}
    expected = "f(order=sjf, bounds=(1, 2), one=(60,), t='1', w='None', x=None)"
    assert format_name("f", options) == expected
    assert format_name("f", {}) == "f"
    with pytest.raises(BfenvError, match="quotes of both kinds"):
        format_name("f", {"x": "'\""})


def test_import():
    """An object is imported by module and name, which may have dots."""
    assert import_object("os:path") is os.path
    assert import_object("os:path.join") is os.path.join


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "module:object"),
        (":", "module:object"),
        ("os", "module:object"),
        ("os:", "module:object"),
        (":path", "module:object"),
        ("os:nosuch", "nosuch"),
        ("os:path.nosuch", "nosuch"),
        ("json:dumpz", "did you mean dump or dumps?"),
        ("bfenv.core.arguments:xyzzy", "it has check_integer, check_number, check_choice"),
        ("nosuchmodule:f", "'nosuchmodule': ModuleNotFoundError"),
        ("os.nosuch:f", "'os.nosuch': ModuleNotFoundError"),
        ("mine.py:f", "write mine:f"),
        ("./mine.py:f", "write mine:f"),
        ("folder/mine:f", "write folder.mine:f"),
        ("../mine.py:f", "go to the folder .. and write mine:f there"),
        ("/a/b/mine.py:f", "go to the folder /a/b and write mine:f there"),
        (r"C:\folder\mine.py:f", "go to the folder C:/folder and write mine:f there"),
        ("..:f", "'..'"),
        (f"{'a' * 5000}:f", "5,002 characters"),
    ],
)
def test_bad_imports(text, message):
    """The error, of the given type, names the text and what cannot be found."""
    with pytest.raises(PolicyError) as caught:
        import_object(text, PolicyError)
    assert len(text) > 99 or repr(text)[1:-1].replace("\\\\", "\\") in str(caught.value)
    assert message in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("1 // 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import os; os.nosuch", "AttributeError"),
        ("raise ValueError('a\\nb')", "ValueError: a b"),
        ("def", "SyntaxError"),
    ],
)
def test_broken_modules(code, kind, tmp_path, monkeypatch):
    """A module that fails when it is imported is named in one line, with its error."""
    (tmp_path / "brokenmodule.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(BfenvError) as caught:
        import_object("brokenmodule:f")
    assert f"cannot import 'brokenmodule': {kind}" in str(caught.value)
    assert "\n" not in str(caught.value)
