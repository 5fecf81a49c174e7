"""Settings of Sphinx. `docs/site/make_site.py` copies this file beside the pages that it gathers."""

from howsure._version import __version__

project = "howsure"
author = "The howsure authors"
copyright = author
version = release = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
language = "en"
highlight_language = "text"  # blocks without a language are commands and formulas
smartquotes = False  # quotation marks in commands stay as typed

myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

add_module_names = True

html_theme = "furo"
html_title = f"howsure {__version__}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "monokai"
