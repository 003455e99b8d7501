"""Settings of the documentation site, which `make docs` builds with Sphinx."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site"))
sys.path.append(str(Path(__file__).parent.parent))  # the folder benchmarks, whose numbers are shown
import generate
import tutorials

project = "bfenv"
author = "The bfenv developers"
copyright = "2026, The bfenv developers. Code under the MIT licence"
version = release = version_of("bfenv")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "agents/boards",
    "gallery/*.ipynb",
    "gallery/*.py",
    "generated",
    "site",
    "tutorials",
]
sphinx_gallery_conf = tutorials.GALLERY
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
default_role = "code"

html_theme = "furo"
html_title = f"bfenv {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#6db6e8", "color-brand-content": "#6db6e8"},
}
html_show_sphinx = False
html_domain_indices = False
pygments_style = "tango"
pygments_dark_style = "monokai"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def write_generated(source):
    """Write pages, and the copies of the tutorials that are run."""
    generate.write_pages(source)
    tutorials.copy(source)


def setup(app):
    """Write the generated pages before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, config: write_generated(Path(app.srcdir)))
    app.connect("autodoc-process-signature", generate.shorten_signature)
    app.connect("autodoc-process-docstring", generate.improve_docstring)
    app.connect("object-description-transform", generate.move_result_type)
