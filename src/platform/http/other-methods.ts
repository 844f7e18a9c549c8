/** 405 with `Allow`, for a path that exists but not with the method of the request (contract.md §1). */
import type { FastifyInstance } from 'fastify'
import type { ErrorBody } from './errors.ts'

/**
 * Notes the methods of every route that is mounted from now on.
 * @param left methods that something else answers
 * @returns mounts the refusal of all other methods; to be called when all routes are mounted
 */
export function watchMethods(app: FastifyInstance, left: readonly string[] = []): () => void {
  const methodsOf = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set(left)
    for (const one of [method].flat()) methods.add(one)
    methodsOf.set(url, methods)
  })
  return () => {
    for (const [url, methods] of [...methodsOf]) refuseOthers(app, url, methods)
  }
}

function refuseOthers(app: FastifyInstance, url: string, methods: ReadonlySet<string>): void {
  const others = app.supportedMethods.filter((method) => !methods.has(method))
  const allowed = app.supportedMethods.filter((method) => methods.has(method))
  const message = `Only ${new Intl.ListFormat('en-GB').format(allowed)} ${allowed.length > 1 ? 'are' : 'is'} allowed here`
  app.route({
    method: others,
    url,
    // The body is not read, because no method of this route takes one.
    onRequest: async (request, reply) =>
      reply
        .code(405)
        .header('allow', allowed.join(', '))
        .send({ message, code: 'METHOD_NOT_SUPPORTED', request_id: request.id } satisfies ErrorBody),
    handler: async (_, reply) => reply,
  })
}
