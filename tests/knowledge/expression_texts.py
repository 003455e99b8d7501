"""Texts of random expressions."""

from hypothesis import strategies as st

from bfenv.knowledge.user_history import NAMES

numbers = st.floats(-4, 4).map(lambda x: round(x, 2) + 0.0)  # no -0.0: min and max take either 0


leaves = st.one_of(numbers.map(lambda x: f"({x:.2f})"), st.sampled_from(NAMES))


texts = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+ - * / ** < <= > >=".split()), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        st.tuples(st.sampled_from(["log", "exp", "sqrt", "abs"]), inner).map(
            lambda parts: f"{parts[0]}({parts[1]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner, inner).map(
            lambda parts: f"{parts[0]}({parts[1]}, {parts[2]}, {parts[3]})"
        ),
        inner.map(lambda text: f"(-{text})"),
    ),
    max_leaves=8,
)
