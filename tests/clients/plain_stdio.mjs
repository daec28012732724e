// The simplest client that works with servers made with the official kits: it writes a call to the server's stdin at
// once, with no opening, and takes whatever line carries its id for the answer.
//
// usage: node plain_stdio.mjs DIRECTORY: where `trellis-mcp` and `trellisd` are. A temporary home holds a project; the
// daemon is stopped at the end. Prints `N passed, N failed`.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const directory = resolve(process.argv[2]);
const home = mkdtempSync(join(tmpdir(), "trellis-"));
const project = join(home, "project");
mkdirSync(join(project, ".git"), { recursive: true });
const env = {
  PATH: process.env.PATH,
  HOME: home,
  TRELLIS_DAEMON: join(directory, "trellisd"),
  TRELLIS_IDLE_SECONDS: "60",
};

class StdioClient {
  constructor(command, flags) {
    this.server = spawn(command, flags, { env, cwd: project, stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = new Map();
    this.lastId = 0;
    let rest = "";
    this.server.stdout.on("data", (piece) => {
      const lines = (rest + piece).split("\n");
      rest = lines.pop();
      for (const line of lines.filter(Boolean)) this.take(JSON.parse(line));
    });
  }

  take({ id, result, error }) {
    const promise = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) promise?.reject(error);
    else promise?.resolve(result);
  }

  request(method, params) {
    const id = ++this.lastId;
    this.server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  callTool(name, given) {
    return this.request("tools/call", { name, arguments: given });
  }

  end() {
    this.server.stdin.end();
  }
}

let passed = 0;
let failed = 0;
async function check(what, work) {
  try {
    const seen = await work();
    if (seen === true) {
      passed += 1;
      return;
    }
    console.log(`FAILED ${what}: ${JSON.stringify(seen)}`);
  } catch (error) {
    console.log(`FAILED ${what}: ${JSON.stringify(error)}`);
  }
  failed += 1;
}

const board = () => JSON.parse(readFileSync(join(project, ".vibe-kanban-bridge.json"), "utf8"));
for (const flags of [[], ["--only", "board"]]) {
  const client = new StdioClient(join(directory, "trellis-mcp"), flags);
  await check("a task is created by the very first message", async () => {
    const { structuredContent: answer, isError } = await client.callTool("vbm_create_task", { title: "New Task" });
    return isError !== true && answer.success && answer.task.lane === "backlog" ? true : answer;
  });
  await check("it is in the file", async () => board().lanes.backlog.at(-1).title === "New Task");
  await check("tools are listed", async () => {
    const { tools } = await client.request("tools/list");
    return tools.some((tool) => tool.name === "vbm_create_task") ? true : tools.map((tool) => tool.name);
  });
  await check("a wrong call is answered as a result", async () => {
    const { isError, structuredContent } = await client.callTool("vbm_create_task", { title: "" });
    return isError === true && structuredContent.error.code === 1001 ? true : structuredContent;
  });
  client.end();
}

execFileSync(join(directory, "trellisd"), ["stop"], { env });
rmSync(home, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
