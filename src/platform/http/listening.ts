/** Listens on the ports of the settings, and says in one line why that is impossible. */
import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Settings } from '../../settings.ts'
import { whileSupervised } from '../processes/member.ts'
import { StartError } from '../processes/start-error.ts'

interface Address {
  host: string
  port: number
  /** The setting that names the port. */
  setting?: string
}

/** Fails if the port is in use, before anything else is started. @throws StartError */
export async function probePort({ host, port }: Pick<Settings, 'host' | 'port'>): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, resolve)
  }).catch((error) => {
    throw listenError(error, { host, port })
  })
  await new Promise((resolve) => server.close(resolve))
}

/** @throws StartError */
export async function listen(app: FastifyInstance, { host, port, setting }: Address): Promise<void> {
  // Fastify hears errors until it listens. Later ones are of connections that could not be accepted, for want of memory or descriptors.
  app.server.on('error', (err) => app.server.listening && app.log.error({ err }, 'connection not accepted'))
  await whileSupervised(app.listen({ host, port })).catch((error) => {
    throw listenError(error, { host, port, ...(setting && { setting }) })
  })
}

/** What to say about an error of `listen`; the error itself if it is another one. */
export function listenError(error: NodeJS.ErrnoException, { host, port, setting = 'PORT' }: Address): Error {
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `${setting}: ${port} is in use on ${host}; stop the program that listens there, or set ${setting} (0 takes any free port)`,
    )
  if (error.code === 'EACCES') return new StartError(`${setting}: ${port} is not allowed for this account`)
  // With several processes the supervisor binds the port.
  if (['listen', 'bind', 'getaddrinfo'].includes(error.syscall ?? ''))
    return new StartError(`${setting === 'INBOUND_SMTP' ? setting : 'HOST'}: cannot listen on ${host}: ${error.message}`)
  return error
}
