"""Safe mode's scanner: what a block of code would do that a person should know of before it runs.

``scanner`` is what others use. It asks semgrep, a program of its own, with the rules in ``rules/``; nothing is fetched
and nothing is sent. What it finds can only ever be shown and hold code back: no result of it allows anything.
"""
