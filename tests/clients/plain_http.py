"""The simplest client over HTTP: a base address, a key, and one POST for each call; not a word about projects.

usage: plain_http.py DIRECTORY, where `trellisd` is. A daemon is run in a project in a temporary home, as a person would
run it, with nothing but the variables that turn the gateway on. Prints `N passed, N failed`.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

KEY = "your-key-1"


class Client:
    def __init__(self, base_url, api_key):
        self.base_url = base_url
        self.headers = {"Content-Type": "application/json", "X-API-Key": api_key}

    def post(self, path, body):
        request = urllib.request.Request(self.base_url + path, json.dumps(body).encode(), self.headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def call_tool(self, name, arguments):
        return self.post("/tools", {"name": name, "arguments": arguments})


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("FAILED: the gateway does not listen")


def main(directory):
    trellisd = Path(directory).resolve() / "trellisd"
    counts = {True: 0, False: 0}

    def check(what, held, seen):
        counts[bool(held)] += 1
        if not held:
            print(f"FAILED {what}: {seen}")

    with tempfile.TemporaryDirectory(prefix="trellis-") as home:
        project = Path(home, "project")
        (project / ".git").mkdir(parents=True)
        port = free_port()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "ENABLE_STDIO": "true",
            "ENABLE_HTTP": "true",
            "PORT": str(port),
            "API_KEYS": f"{KEY},your-key-2",
        }
        daemon = subprocess.Popen([trellisd, "run"], env=environment, cwd=project, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            client = Client(f"http://localhost:{port}", KEY)
            status, answer = client.call_tool("vbm_create_task", {"title": "New Task", "priority": "high"})
            check("a task is created", status == 200 and answer.get("success") is True, answer)
            check("with its priority", answer.get("task", {}).get("priority") == "high", answer)
            bridge = project / ".vibe-kanban-bridge.json"
            check("in the project's file", bridge.is_file() and "New Task" in bridge.read_text(), bridge)
            status, answer = client.post("/tools/vbm_list_tasks", {})
            check("by the tool's own path", status == 200 and answer.get("total") == 1, answer)
            status, answer = client.post("/sync", {})
            check("synchronised", status == 200 and answer.get("tasksSynced") == 1, answer)
            status, answer = Client(client.base_url, "another").call_tool("vbm_list_tasks", {})
            check("not without the key", status == 401 and answer["error"]["code"] == 1005, answer)
        finally:
            subprocess.run([trellisd, "stop"], env=environment, check=False, capture_output=True)
            daemon.wait(10)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
