/** The log of a request. A child of pino's logger is made when something is logged, because most requests log nothing. */
import type { FastifyBaseLogger } from 'fastify'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]
type Options = Parameters<FastifyBaseLogger['child']>[1]

/** Lets the logger of an application make the logs of its requests on demand. */
export function logOnDemand(log: FastifyBaseLogger): void {
  const { child } = log
  log.child = function (this: FastifyBaseLogger, bindings: Bindings, options?: Options) {
    const make = (): FastifyBaseLogger => child.call(this, bindings, options)
    // Fastify asks it for a child for each request. The children themselves, which have this method from it, make theirs at once.
    return this === log ? new RequestLog(make) : make()
  } as typeof child
}

class RequestLog implements FastifyBaseLogger {
  readonly #make: () => FastifyBaseLogger
  #made: FastifyBaseLogger | undefined

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make
  }

  get #log(): FastifyBaseLogger {
    this.#made ??= this.#make()
    return this.#made
  }

  get level() {
    return this.#log.level
  }
  get fatal() {
    return this.#log.fatal.bind(this.#log)
  }
  get error() {
    return this.#log.error.bind(this.#log)
  }
  get warn() {
    return this.#log.warn.bind(this.#log)
  }
  get info() {
    return this.#log.info.bind(this.#log)
  }
  get debug() {
    return this.#log.debug.bind(this.#log)
  }
  get trace() {
    return this.#log.trace.bind(this.#log)
  }
  get silent() {
    return this.#log.silent.bind(this.#log)
  }
  get child() {
    return this.#log.child.bind(this.#log)
  }
}
