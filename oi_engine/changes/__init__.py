"""What runs change on disk: looked at before and after, kept in a store of its own, shown, and taken back."""
