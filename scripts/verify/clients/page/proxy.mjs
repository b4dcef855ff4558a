// A connection to the host that can be cut, which the offline mode of a browser does not
// do to a stream that is open.
import { connect, createServer } from 'node:net';

export async function proxy(url) {
  const to = new URL(url);
  const sockets = new Set();
  let dead = false;
  const server = createServer((from) => {
    if (dead) return void from.destroy();
    const there = connect(Number(to.port), to.hostname);
    for (const s of [from, there]) {
      sockets.add(s);
      s.on('error', () => {});
      s.on('close', () => {
        sockets.delete(s);
        (s === from ? there : from).destroy();
      });
    }
    from.pipe(there).pipe(from);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut() {
      dead = true;
      for (const s of sockets) s.destroy();
    },
    mend: () => (dead = false),
    close() {
      server.close();
      for (const s of sockets) s.destroy();
    },
  };
}
