"""``python -m oi_lsp``: the same as ``oi-lsp``."""

import sys

from oi_lsp.cli import main

sys.exit(main())
