"""What a script is given, and how it says what it saw."""

import json
import os

_all = json.loads(os.environ["PEERS"])
way, url, token = _all["way"], _all["url"], _all["token"]
command, args, env = _all["command"], _all["args"], _all["env"]
tool, arguments, mode = _all["tool"], _all["arguments"], _all["mode"]
headers = {"Authorization": f"Bearer {token}"}


def saw(tools, said):
    print(f"tools={len(tools)}")
    print(f"said={said}", flush=True)
