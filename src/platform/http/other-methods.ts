/** 405 with `Allow`, for a path that exists but not with the method of the request (contract.md §1). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import FindMyWay from 'find-my-way'
import type { ErrorBody } from './answers/error-answer.ts'

/** Answers the request with 405 if its path exists with other methods. @returns false, and does nothing, if it does not exist */
export type RefuseMethod = (request: FastifyRequest, reply: FastifyReply) => boolean

/**
 * Notes the methods of every route that is mounted from now on, for requests that no route takes. Routes that refuse all other methods
 * would be seven times as many as those that answer, and would double the time in which the application is built.
 * @param left methods that something else answers
 */
export function watchMethods(app: FastifyInstance, left: readonly string[] = []): RefuseMethod {
  const methodsOf = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set(left)
    for (const one of [method].flat()) methods.add(one)
    methodsOf.set(url, methods)
  })
  let router: FindMyWay.Instance<FindMyWay.HTTPVersion.V1> | undefined
  return ({ url, id }, reply) => {
    router ??= routerOf(methodsOf, app.initialConfig.routerOptions?.maxParamLength)
    const methods = router.find(ANY, url)?.store as ReadonlySet<string> | undefined
    if (!methods) return false
    const allowed = app.supportedMethods.filter((method) => methods.has(method))
    const message = `Only ${new Intl.ListFormat('en-GB').format(allowed)} ${allowed.length > 1 ? 'are' : 'is'} allowed here`
    reply
      .code(405)
      .header('allow', allowed.join(', '))
      .send({ message, code: 'METHOD_NOT_SUPPORTED', request_id: id } satisfies ErrorBody)
    return true
  }
}

/** The router knows paths by method, and all paths are mounted under this one. */
const ANY = 'GET'

function routerOf(methodsOf: ReadonlyMap<string, ReadonlySet<string>>, maxParamLength: number | undefined) {
  const router = FindMyWay({ ...(maxParamLength && { maxParamLength }) })
  for (const [url, methods] of methodsOf) router.on(ANY, url, () => {}, methods)
  return router
}
