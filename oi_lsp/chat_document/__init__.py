"""The chat document (``*.oi.md``) as pure text: no LSP, no files.

``parse`` reads one (``document`` is what it says, ``plain`` what the person wrote without ids), ``conversation`` gives
its messages, ``frame`` begins a document and an answer, and ``render`` writes a session's stream into it by insertions
at ``places``. The format is described in ``docs/chat-documents.md``; ``syntax`` and ``escape`` are its marks.
"""
