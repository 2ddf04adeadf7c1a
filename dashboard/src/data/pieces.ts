/** How often a busy stream is read. */
const everyMs = 250;

/**
 * A fetch whose streams are read four times a second at most. The server sends each event by itself, and each would wake the page; what
 * comes between two reads waits in the browser, and is one piece. After a pause the first event comes at once.
 */
export function inPieces(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    return isStream && response.body ? new Response(slowed(response.body), response) : response;
  };
}

function slowed(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let last = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const early = last + everyMs - performance.now();
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      const { value, done } = await reader.read();
      last = performance.now();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}
