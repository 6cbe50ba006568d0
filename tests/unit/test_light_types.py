"""The lighter classes of lsprotocol: the same on the wire, and comparable where the protocol compares."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from oi_lsp import light_types
light_types.load()
import attrs
from lsprotocol import converters, types
assert "__eq__" not in vars(types.InitializeParams), "the classes were not made lighter"
assert types.Position(1, 2) == types.Position(1, 2) != types.Position(1, 3)
assert types.Position(1, 2) < types.Position(2, 0)
here = types.Range(types.Position(1, 2), types.Position(1, 3))
assert here == types.Range(types.Position(1, 2), types.Position(1, 3))
converter = converters.get_converter()
request = json.loads(sys.argv[1])
print(json.dumps(converter.unstructure(converter.structure(request, types.InitializeRequest))))
"""


def test_the_same_on_the_wire() -> None:
    request = {
        "id": 1,
        "jsonrpc": "2.0",
        "method": "initialize",
        "params": {
            "processId": 7,
            "rootPath": None,
            "rootUri": "file:///tmp",
            "capabilities": {"general": {"positionEncodings": ["utf-8", "utf-16"]}},
            "workspaceFolders": [{"uri": "file:///tmp", "name": "tmp"}],
        },
    }
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(request)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == request
