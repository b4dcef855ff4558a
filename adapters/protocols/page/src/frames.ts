// Server-sent events from the body of a fetch: EventSource can send no headers.

export interface Frame {
  id: string;
  data: string;
}

// frames yields the frames of a stream as they come. A frame that the end cuts off is
// dropped: it comes again behind the last id.
export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let id = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop()!;
      for (const raw of lines) {
        const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
        if (line === '') {
          if (data.length) yield { id, data: data.join('\n') };
          data = [];
        } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
        else if (line.startsWith('id:')) id = line.slice(line[3] === ' ' ? 4 : 3);
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // a stream that was aborted has nothing left to cancel
  }
}
