import { signal } from "@preact/signals";
import { learnClock } from "./clock";

/** Whether the server answers, and its database. */
export type Connection = "up" | "server gone" | "database gone";

export const connection = signal<Connection>("up");

/** Increases when the server is back, so that everything on the page is loaded again. */
export const reconnects = signal(0);

/** Increases when the server says that the caller is not signed in. */
export const refusals = signal(0);

/** How often to ask whether the server is back. */
const askEvery = 1000;

let asking = false;

/** A fetch that notices when the server goes, and when it comes back. */
export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    learnClock(response.headers.get("date"));
    if (response.status === 401) refusals.value++;
    else if (response.status === 503 || response.status === 502 || response.status === 504) lose("database gone");
    else if (connection.value !== "up") void askUntilBack();
    return response;
  } catch (error) {
    if (!init?.signal?.aborted) lose("server gone");
    throw error;
  }
};

function lose(state: Connection): void {
  connection.value = state;
  void askUntilBack();
}

async function askUntilBack(): Promise<void> {
  if (asking) return;
  asking = true;
  while (connection.value !== "up") {
    await new Promise((resolve) => setTimeout(resolve, askEvery));
    connection.value = await ask();
  }
  asking = false;
  reconnects.value++;
}

async function ask(): Promise<Connection> {
  try {
    const response = await fetch("/readyz?reads", { cache: "no-store" });
    return response.ok ? "up" : "database gone";
  } catch {
    return "server gone";
  }
}
