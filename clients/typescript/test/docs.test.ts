import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { Dibs } from "../src/index.js";
import { CuttingProxy, server } from "./harness.js";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "dibs-docs-"));
after(() => rmSync(dir, { recursive: true }));

/** Runs a program until it has printed some lines and stored the cursor of the last. */
async function expectLines(program: string, url: string, cursor: string, ...want: string[]): Promise<void> {
  const child = spawn("node", [program], { cwd: dir, env: { ...process.env, DIBS_SERVER: url }, stdio: ["ignore", "pipe", "inherit"] });
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

/** Returns a program of a page, its first or that behind a mark, as JavaScript that imports the client from here. */
function programOf(page: string, mark = ""): string {
  const text = readFileSync(join(root, page), "utf8");
  const source = /```ts\n([^]*?)```/.exec(text.slice(text.indexOf(mark)))![1]!;
  const client = pathToFileURL(fileURLToPath(new URL("../src/index.js", import.meta.url))).href;
  return transformSync(source, { loader: "ts", format: "esm" }).code.replace("@calldibs/client", client);
}

test("the program on the README takes a name, and the second time finds it taken", async () => {
  const { url } = await server();
  const program = join(dir, "readme.mjs");
  writeFileSync(program, programOf("README.md").replace("http://localhost:8080", url));
  assert.equal(execFileSync("node", [program]).toString(), "slug:carol-dave is theirs\n");
  assert.match(execFileSync("node", [program]).toString(), /^taken; free are \[ 'carol-dave-2', 'carol-dave-3', 'carol-dave-4' \]\n$/);
});

test("the program on docs/events.md prints events, and resumes when it is started again", async () => {
  const program = join(dir, "watch.mjs");
  writeFileSync(program, programOf("docs/events.md"));
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

test("the functions on docs/adopting.md write both the name and the row", async () => {
  const file = join(dir, "write_both.mjs");
  writeFileSync(file, programOf("docs/adopting.md", "<!-- file: write_both.ts -->"));
  const { createUser } = (await import(pathToFileURL(file).href)) as { createUser(dibs: Dibs, insert: (id: string, username: string) => Promise<void>, id: string, username: string): Promise<void> };
  const real = await server();
  const dibs = new Dibs(real.url);
  const rows = new Map<string, string>();
  const insert = async (id: string, username: string) => { rows.set(id, username); };
  const failing = (error: Error) => async () => { throw error; };
  await createUser(dibs, insert, "1", "ann");
  await assert.rejects(createUser(dibs, insert, "2", "Ann"), /NAME_TAKEN/);
  await assert.rejects(createUser(dibs, failing(Object.assign(new Error("the index refuses"), { code: "23505" })), "3", "carla"), /the index refuses/);
  assert.equal((await dibs.check("username", "carla")).available, true);
  await assert.rejects(createUser(dibs, failing(Object.assign(new Error("no answer to COMMIT"), { code: "ECONNRESET" })), "4", "dave"), /no answer/);
  assert.equal((await dibs.name("username", "dave"))!.entity!.id, "4");

  const proxy = await new CuttingProxy(real).start();
  proxy.cut = "answers";
  proxy.stopAfter(2);
  await createUser(new Dibs({ url: proxy.url, timeoutMs: 60_000 }), insert, "5", "erin");
  assert.equal(proxy.cuts, 2);
  assert.deepEqual([...rows], [["1", "ann"], ["5", "erin"]]);
});
