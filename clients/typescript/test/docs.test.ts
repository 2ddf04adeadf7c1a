import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { Dibs } from "../src/index.js";
import { server } from "./harness.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "dibs-docs-"));
after(() => rmSync(dir, { recursive: true }));

/** Runs a program until it has printed some lines and stored the cursor of the last. */
async function expectLines(program: string, url: string, cursor: string, ...want: string[]): Promise<void> {
  const child = spawn("node", [program], { cwd: dir, env: { ...process.env, DIBS_URL: url }, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const got: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    got.push(line);
    if (got.length === want.length) break;
  }
  assert.deepEqual(got, want);
  const saved = () => {
    try {
      return readFileSync(join(dir, "cursor"), "utf8");
    } catch {
      return "";
    }
  };
  while (saved() !== cursor) await new Promise((resolve) => setTimeout(resolve, 5));
  child.kill("SIGKILL");
  await ended;
}

test("the program on docs/events.md prints events, and resumes when it is started again", async () => {
  const source = /```ts\n([^]*?)```/.exec(readFileSync(join(root, "docs/events.md"), "utf8"))![1]!;
  const program = join(dir, "watch.mjs");
  const client = pathToFileURL(fileURLToPath(new URL("../src/index.js", import.meta.url))).href;
  writeFileSync(program, transformSync(source, { loader: "ts", format: "esm" }).code.replace("@calldibs/client", client));
  const { url } = await server();
  const dibs = new Dibs(url);
  const claim = (value: string) => dibs.claim({ namespace: "slug", value, entity: { type: "user", id: value } });
  const last = async () => (await dibs.events()).events.at(-1)!.cursor;
  await claim("ann");
  await claim("bob");
  await expectLines(program, url, await last(), "claimed slug:ann", "claimed slug:bob");
  await claim("carol");
  await expectLines(program, url, await last(), "claimed slug:carol");
});
