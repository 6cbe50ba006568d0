"""The Python API: ``hub`` (the event loop in its thread), ``core`` (one interpreter, on that loop), and the faces.

::

    from oi_engine import interpreter, OpenInterpreter, AsyncInterpreter

The names are Open Interpreter's; ``docs/python-api.md`` says what each does, ``docs/compatibility.md`` what differs.
"""
