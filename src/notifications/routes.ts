/** The page to unsubscribe from mails. Opening it changes nothing, because mail scanners follow links; its button unsubscribes. */
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { systemActor } from '../platform/actor.ts'
import type { Deps } from '../platform/context.ts'
import { serviceContext } from '../platform/http/procedures/request-context.ts'
import { unsubscribe, unsubscribingUserId } from './unsubscribe.ts'

const STYLE = `body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; background: #f4f5f7; color: #1c2430 }
main { max-width: 24rem; margin: 10vh auto; padding: 2rem; background: #fff; border-radius: .5rem; box-shadow: 0 1px 4px #0002 }
h1 { font-size: 1.25rem; margin-top: 0 }
button { padding: .5rem 1rem; font: inherit; color: #fff; background: #1d4ed8; border: 0; border-radius: .25rem; cursor: pointer }`

const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`

const ASK = page(
  'No more mails about notifications?',
  '<form method="post"><p>You will still see notifications in the app.</p><button>Stop the mails</button></form>',
)
const DONE = page('No more mails', '<p>You will get no more mails about notifications. You can turn them on again in your profile.</p>')
const UNKNOWN = page('This link is incomplete', '<p>Open it again from the mail.</p>')

const HEADERS = {
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; ` +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

const MAX_BODY_BYTES = 10_000

interface Path {
  Params: { token: string }
}

/** The link itself is the credential. A mail program sends a POST to it (RFC 8058). */
export function mountUnsubscribe(app: FastifyInstance, { settings }: Deps): void {
  const send = (reply: FastifyReply, status: number, html: string) =>
    reply.code(status).headers(HEADERS).type('text/html; charset=utf-8').send(html)
  app.register(async (scope) => {
    // The form may have either content type. Its content is ignored, because the link says everything.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_, __, done) => done(null))
    scope.get<Path>('/unsubscribe/:token', async ({ params }, reply) =>
      unsubscribingUserId(settings.secretKeys, params.token) === null ? send(reply, 404, UNKNOWN) : send(reply, 200, ASK),
    )
    scope.post<Path>('/unsubscribe/:token', async ({ params, context }, reply) => {
      const userId = unsubscribingUserId(settings.secretKeys, params.token)
      const isKnown = userId !== null && (await unsubscribe(serviceContext(context, systemActor), userId))
      return isKnown ? send(reply, 200, DONE) : send(reply, 404, UNKNOWN)
    })
  })
}
