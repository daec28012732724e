// The official TypeScript client against the built programs.
//
// usage: node typescript_sdk.mjs MODULES DIRECTORY: the node_modules that hold the client, and where `trellis-mcp` and
// `trellisd` are. A temporary home holds a project with a vault; the daemon is stopped at the end. Prints
// `N passed, N failed`.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, directory] = process.argv.slice(2).map((path) => resolve(path));
// Resolved as if from beside the modules, which are not where this file is.
const near = createRequire(pathToFileURL(join(modules, "here.js")));
const load = (name) => import(pathToFileURL(near.resolve(name)));
const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

let passed = 0;
let failed = 0;
function check(what, held, seen) {
  if (held) {
    passed += 1;
  } else {
    failed += 1;
    console.log(`FAILED ${what}: ${JSON.stringify(seen)}`);
  }
}

const home = mkdtempSync(join(tmpdir(), "trellis-"));
const project = join(home, "project");
mkdirSync(join(project, "vault"), { recursive: true });
writeFileSync(join(project, "vault", "a.md"), "one\ntwo 🦀\n");
const env = {
  PATH: process.env.PATH,
  HOME: home,
  TRELLIS_DAEMON: join(directory, "trellisd"),
  TRELLIS_IDLE_SECONDS: "60",
};

try {
  for (const args of [["--only", "vault"], []]) {
    const name = args.join(" ") || "no flags";
    const client = new Client({ name: "typescript", version: "1" });
    await client.connect(new StdioClientTransport({ command: join(directory, "trellis-mcp"), args, env, cwd: project }));
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    const wanted = ["vault_ls", "vault_read", "vault_scan"];
    check(`${name}: the tools`, wanted.every((tool) => names.includes(tool)), names);
    const good = await client.callTool({ name: "vault_read", arguments: { path: "a.md", full: true } });
    check(`${name}: an answer`, !good.isError && good.structuredContent.text === "one\ntwo 🦀", good);
    const bad = await client.callTool({ name: "vault_read", arguments: { path: "none.md", full: true } });
    check(`${name}: a refusal`, bad.isError && bad.structuredContent.error.code === "not_found", bad);
    await client.close();
  }
} catch (error) {
  check("the conversation", false, String(error.stack));
} finally {
  const words = execFileSync(join(directory, "trellisd"), ["stop"], { env, encoding: "utf8" });
  check("the daemon leaves when asked", words.includes("has left"), words);
  rmSync(home, { recursive: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
