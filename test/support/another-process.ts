import { freePort } from '../../scripts/free-port.ts'
import { buildApp } from '../../src/app.ts'
import { openFeed } from '../../src/events/feed.ts'
import type { TestApp } from './app.ts'

/** Another process of the service, at a port of its own or at that of one before. */
export async function serveBeside({ db, deps }: TestApp, port?: number) {
  const feed = openFeed(db, { log: deps.log, clock: deps.clock, maxStreams: 10 })
  const server = await buildApp({ ...deps, feed })
  // Systems give the port to nobody by themselves between two such processes.
  const url = await server.listen({ port: port ?? (await freePort()), host: '127.0.0.1' })
  return { url, port: Number(new URL(url).port), stop: () => server.close() }
}
