"""The HTTP gateway against programs that others wrote: schemathesis, and the conformance suite of MCP.

usage: gateway.py DIRECTORY SCHEMATHESIS [NODE CONFORMANCE]; DIRECTORY is where `trellisd` is.

A daemon runs in a temporary home. schemathesis reads /openapi.json and tries every operation; the conformance suite, if
it is there, tries both eras of /mcp. Scenarios that need tools of the suite's own example server are not asked for. Ends
with status 1 if anything failed.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

KEY = "a-key-of-the-check"

# Rules between arguments cannot be said in a schema, so good data may be refused with 400; and null counts as absent
# where the families' contracts say so, though their schemas do not mention it. It also sends hundreds of wrong keys and
# expects 401 each time, where guessing is slowed down with 429; tests/e2e/http/credentials.rs has all of that.
NOT_CHECKED = "positive_data_acceptance,negative_data_rejection,ignored_auth"

HANDSHAKE = [
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]
ABOUT_PROMPTS = ["prompts-list", "caching"]
MODERN = [
    "tools-list",
    "resources-list",
    "prompts-list",
    "sep-2164-resource-not-found",
    "caching",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "input-required-result-ignore-extra-params",
]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Gateway:
    """A daemon with its gateway, for as long as it is needed."""

    def __init__(self, trellisd, home, **settings):
        self.trellisd = trellisd
        self.port = free_port()
        project = home / "project"
        (project / "vault").mkdir(parents=True, exist_ok=True)
        (project / "vault" / "a.md").write_text("one\ntwo\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TRELLIS_DAEMON": str(trellisd),
            "ENABLE_HTTP": "true",
            "PORT": str(self.port),
            "TRELLIS_HTTP_PROJECT": str(project),
            **settings,
        }

    def run(self, command):
        subprocess.run([self.trellisd, command], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        self.run("up")
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_):
        self.run("stop")


def schema(program, url):
    """Every operation of the document, with good and bad data."""
    # It runs elsewhere, so that it leaves nothing here.
    command = [os.path.abspath(program), "run", f"{url}/openapi.json", "-H", f"X-API-Key: {KEY}", "--no-color"]
    command += ["--max-examples", "40", "--exclude-checks", NOT_CHECKED, "--request-timeout", "20"]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True)
    print(done.stdout[-6000:] if done.returncode else "\n".join(done.stdout.splitlines()[-4:]))
    return done.returncode == 0


def has_prompts(url):
    """Whether any family has prompts: without them the server has no such method."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "check", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
    }
    request = urllib.request.Request(f"{url}/mcp", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return "prompts" in json.load(answer)["result"]["capabilities"]


def conformance(node, program, url, scenarios, version):
    """The scenarios that ask nothing of the server's own tools."""
    if not has_prompts(url):
        scenarios = [scenario for scenario in scenarios if scenario not in ABOUT_PROMPTS]
    failed = []
    for scenario in scenarios:
        command = [node, program, "server", "--url", f"{url}/mcp", "--scenario", scenario, "--spec-version", version]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            failed.append(scenario)
            print(done.stdout[-3000:], done.stderr[-1000:])
    print(f"conformance {version}: {len(scenarios) - len(failed)} of {len(scenarios)} scenarios passed")
    return not failed


def main(directory, schemathesis, node=None, program=None):
    trellisd = Path(directory).resolve() / "trellisd"
    good = True
    with tempfile.TemporaryDirectory() as home:
        with Gateway(trellisd, Path(home), API_KEYS=KEY) as url:
            good &= schema(schemathesis, url)
        if program:
            # The suite sends no credentials.
            with Gateway(trellisd, Path(home), ALLOW_UNAUTHENTICATED="true") as url:
                good &= conformance(node, program, url, HANDSHAKE, "2025-11-25")
                good &= conformance(node, program, url, MODERN, "2026-07-28")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
