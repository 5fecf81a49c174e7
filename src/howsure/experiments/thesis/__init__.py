"""The thesis's tagging figures and its synthetic study."""
