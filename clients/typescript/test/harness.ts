// Real servers for the tests. DIBS_BINARY is the program; without it, go builds one.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

let built: string | undefined;

function binary(): string {
  if (process.env.DIBS_BINARY) return process.env.DIBS_BINARY;
  if (!built) {
    const dir = mkdtempSync(join(tmpdir(), "dibs-client-"));
    built = join(dir, "dibs");
    execFileSync("go", ["build", "-o", built, "./cmd/dibs"], { cwd: root, stdio: "inherit" });
    after(() => rmSync(dir, { recursive: true }));
  }
  return built;
}

/** A server with names in a file, which survive its end. */
export class TestServer {
  readonly dir = mkdtempSync(join(tmpdir(), "dibs-names-"));
  #process: ChildProcess | undefined;
  #address = "";

  get url(): string {
    return `http://${this.#address}`;
  }

  get port(): number {
    return Number(this.#address.split(":")[1]);
  }

  /** Starts the server, again at the same address if it ran before. */
  async start(): Promise<this> {
    if (this.#address) return this.#serve(this.#address);
    for (let tries = 1; ; tries++) {
      // Below the ports that the system chooses: no other program gets this one while the server is away.
      const port = 20_000 + Math.floor(Math.random() * 12_000);
      try {
        return await this.#serve(`127.0.0.1:${port}`);
      } catch (error) {
        if (tries === 10) throw error; // another program may have it
      }
    }
  }

  async #serve(address: string): Promise<this> {
    const child = spawn(binary(), ["serve", "--listen", address, "--store", `sqlite:${join(this.dir, "names.db")}`], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH ?? "" },
    });
    this.#process = child;
    let log = "";
    this.#address = await new Promise<string>((resolve, reject) => {
      child.stderr!.on("data", (data: Buffer) => {
        log += data.toString();
        const found = /msg=serving listen=(\S+)/.exec(log);
        if (found) resolve(found[1]!);
      });
      child.on("exit", () => reject(new Error(`the server ended: ${log}`)));
    });
    return this;
  }

  /** Kills the server without warning. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.removeAllListeners("exit");
    child.on("exit", () => undefined);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await Promise.race([ended, gone]);
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A server for all tests of a file. */
export async function server(): Promise<TestServer> {
  const s = await new TestServer().start();
  after(() => s.stop());
  return s;
}

/** A proxy that cuts connections: before the request reaches the server, or before its answer reaches the client. */
export class CuttingProxy {
  cut: "nothing" | "requests" | "answers" = "nothing";
  /** How many connections were cut. */
  cuts = 0;
  #last = Infinity;
  #server: NetServer;
  #sockets = new Set<Socket>();

  constructor(to: TestServer) {
    this.#server = createServer((client) => {
      this.#sockets.add(client);
      const upstream = connect(to.port, "127.0.0.1");
      const end = () => {
        client.destroy();
        upstream.destroy();
        this.#sockets.delete(client);
      };
      for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
      client.on("data", (data) => {
        if (this.cut === "requests") {
          this.#count();
          return end();
        }
        upstream.write(data);
      });
      upstream.on("data", (data) => {
        if (this.cut === "answers") {
          this.#count();
          return end();
        }
        client.write(data);
      });
    });
  }

  /** Cuts this many more connections, and no others: a busy server answers late, so time does not tell. */
  stopAfter(more: number): void {
    this.#last = this.cuts + more;
  }

  /** Counts a cut. */
  #count(): void {
    this.cuts++;
    if (this.cuts < this.#last) return;
    this.cut = "nothing";
    this.#last = Infinity;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    after(() => this.stop());
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Closes all connections now. */
  sever(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  stop(): void {
    this.sever();
    this.#server.close();
  }
}

let made = 0;

/** A name that no other test uses. */
export function fresh(prefix = "name"): string {
  return `${prefix}-${process.pid}-${++made}`;
}
