"""The official Python client against the built programs, in both eras of the protocol.

usage: python_sdk.py DIRECTORY, where `trellis-mcp` and `trellisd` are.

A temporary home holds a project with a vault. Every way to connect meets every surface; names, answers and refusals
are checked. The daemon that was started on the way is stopped at the end. Prints `N passed, N failed`.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PATIENCE = 60


class Tally:
    """Counts what held and what did not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, what, held, seen=None):
        if held:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {what}: {seen!r}")


@contextlib.asynccontextmanager
async def session(params):
    """The low-level client, which knows only the handshake."""
    async with stdio_client(params) as (read, write), ClientSession(read, write) as session:
        opened = await session.initialize()
        yield session, opened.protocol_version


def client(mode):
    """The high-level client in one of its modes."""

    @contextlib.asynccontextmanager
    async def connect(params):
        async with Client(stdio_client(params), mode=mode) as client:
            yield client, client.protocol_version

    return connect


WAYS = {
    "ClientSession": (session, LEGACY),
    "legacy": (client("legacy"), LEGACY),
    "auto": (client("auto"), MODERN),
    MODERN: (client(MODERN), MODERN),
}
SURFACES = {"--only vault": ["--only", "vault"], "no flags": []}
READING = ["vault_ls", "vault_read", "vault_scan"]


async def talk(tally, name, connect, expected, params, only):
    """One connection: lists, calls that succeed, calls that must not."""

    def check(what, held, seen=None):
        tally.check(f"{name}: {what}", held, seen)

    def both_channels(result):
        return json.loads(result.content[0].text) == result.structured_content

    async with connect(params) as (peer, version):
        check("the protocol version", version == expected, version)

        tools = (await peer.list_tools()).tools
        names = [tool.name for tool in tools]
        check("the reading tools are listed", [n for n in names if n in READING] == READING, names)
        check("no name twice", len(set(names)) == len(names), names)
        check("names are plain", all(re.fullmatch("[a-z][a-z0-9_]{0,39}", n) for n in names), names)
        check("one family alone", not only or all(n.startswith("vault_") for n in names), names)
        check("schemas are objects", all(t.input_schema["type"] == "object" for t in tools))
        check("annotations", all(t.annotations.read_only_hint for t in tools if t.name in READING))
        again = [tool.name for tool in (await peer.list_tools()).tools]
        check("the same list again", again == names, again)

        result = await peer.call_tool("vault_ls", {})
        paths = [item["path"] for item in result.structured_content["items"]]
        check("vault_ls", not result.is_error and paths == ["notes", "こんにちは.md"], result)
        check("vault_ls in both channels", both_channels(result), result)

        result = await peer.call_tool("vault_read", {"path": "こんにちは.md", "full": True})
        check("vault_read", result.structured_content["text"] == "こんにちは 🦀", result)
        check("vault_read in both channels", both_channels(result), result)

        seen, arguments = [], {"path": "notes/long.md"}
        while arguments:
            result = await peer.call_tool("vault_scan", arguments)
            seen += result.structured_content["text"].split("\n")
            arguments = result.structured_content["next_actions"][0]["params"]
        check("vault_scan by its next actions", seen == [str(n) for n in range(200)], seen)

        for code, tool, arguments in [
            ("not_found", "vault_read", {"path": "none.md", "full": True}),
            ("invalid_path", "vault_read", {"path": "../x", "full": True}),
            ("invalid_path", "vault_scan", {}),
            ("invalid_parameter", "vault_read", {"path": "notes/long.md", "full": "yes"}),
            ("forbidden", "vault_ls", {"path": "link"}),
        ]:
            result = await peer.call_tool(tool, arguments)
            content = result.structured_content
            # Clients of the vault alone read the code at the top, too.
            top = content["code"] == code if only else "code" not in content
            held = result.is_error and top and content["error"]["code"] == code
            check(f"{tool} is refused with {code}", held, result)
            check(f"{code} in both channels", both_channels(result), result)

        try:
            result = await peer.call_tool("no_such_tool", {})
            check("an unknown tool is an error of the protocol", False, result)
        except MCPError as error:
            check("an unknown tool is an error of the protocol", error.error.code == -32602, error)


async def main(programs):
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="trellis-") as home:
        vault = Path(home, "project", "vault")
        (vault / "notes").mkdir(parents=True)
        (vault / "こんにちは.md").write_text("こんにちは 🦀\n")
        (vault / "notes" / "long.md").write_text("".join(f"{n}\n" for n in range(200)))
        (vault / "link").symlink_to("notes")
        environment = {"HOME": home, "TRELLIS_DAEMON": str(programs / "trellisd"), "TRELLIS_IDLE_SECONDS": "60"}
        try:
            for surface, flags in SURFACES.items():
                params = StdioServerParameters(
                    command=str(programs / "trellis-mcp"), args=flags, env=environment, cwd=vault.parent
                )
                for way, (connect, version) in WAYS.items():
                    name = f"{way}, {surface}"
                    try:
                        await asyncio.wait_for(talk(tally, name, connect, version, params, bool(flags)), PATIENCE)
                    except Exception:
                        tally.check(name, False, traceback.format_exc())
        finally:
            own = {"PATH": os.environ.get("PATH", ""), **environment}
            stopped = subprocess.run([programs / "trellisd", "stop"], env=own, cwd=home, capture_output=True, text=True)
            tally.check("the daemon leaves when asked", "has left" in stopped.stdout, stopped)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(Path(sys.argv[1]).resolve())))
