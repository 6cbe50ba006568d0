"""Conversations in other forms: the documented JSON, a Jupyter notebook, Markdown, scripts.

Each takes messages in order and answers text. ``importing`` reads the first two back.
"""

from oi_engine.history.export.json_messages import to_json
from oi_engine.history.export.markdown import to_markdown
from oi_engine.history.export.notebook import to_notebook
from oi_engine.history.export.script import Script, to_scripts

__all__ = ["Script", "to_json", "to_markdown", "to_notebook", "to_scripts"]
