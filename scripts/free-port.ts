import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of the loopback address that is free now. It lies below the ports that systems give by themselves to whoever asks for any, so that
 * it is most likely still free when the caller uses it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    // `fetch` refuses to speak with some ports, 10080 among them.
    const port = randomInt(11_000, 30_000)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  await new Promise((resolve) => server.close(resolve))
  return true
}
