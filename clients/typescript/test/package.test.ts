import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const home = fileURLToPath(new URL("../..", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "dibs-package-"));
after(() => rmSync(dir, { recursive: true }));

function bundle(source: string): Buffer {
  const { outputFiles } = buildSync({
    stdin: { contents: source, resolveDir: join(home, "src"), loader: "ts" }, bundle: true, minify: true, format: "esm", platform: "browser", write: false,
  });
  return Buffer.from(outputFiles[0]!.contents);
}

test("the types are those of the API", () => {
  const file = join(dir, "schema.ts");
  execFileSync("node", ["generate.mjs", file], { cwd: home });
  assert.equal(readFileSync(join(home, "src/schema.ts"), "utf8"), readFileSync(file, "utf8"), "src/schema.ts is out of date: run npm run generate");
});

test("the package is small, and what is not used is left out", () => {
  const whole = bundle(`export * from "./index.js"`);
  assert.ok(gzipSync(whole).length < 5_000 && whole.length < 11_300, `${whole.length} bytes, ${gzipSync(whole).length} compressed`);
  assert.ok(bundle(`import { newToken } from "./index.js"; console.log(newToken())`).length < 500);
});

test("it runs without node", () => {
  assert.doesNotMatch(bundle(`export * from "./index.js"`).toString(), /\b(require|process|Buffer)\b/);
});

test("npm can pack it", () => {
  const [packed] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", dir], { cwd: home, stdio: ["ignore", "pipe", "ignore"] }).toString()) as [{ filename: string; files: { path: string }[] }];
  const files = packed.files.map((f) => f.path).sort();
  for (const wanted of ["README.md", "dist/index.js", "dist/index.d.ts", "package.json"]) assert.ok(files.includes(wanted), `${wanted} is not in ${files.join(", ")}`);
  assert.ok(files.every((f) => !f.startsWith("test") && !f.startsWith("src")));
});
