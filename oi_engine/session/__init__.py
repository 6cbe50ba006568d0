"""One conversation: ``session`` is its face, ``turn`` the only place that composes the parts."""
