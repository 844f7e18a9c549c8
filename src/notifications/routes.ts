/** The page to unsubscribe from mails. Opening it changes nothing, because mail scanners follow links; its button unsubscribes. */
import type { FastifyInstance } from 'fastify'
import { systemActor } from '../platform/actor.ts'
import type { Deps } from '../platform/context.ts'
import { START } from '../platform/http/pages/form-page.ts'
import { pageOf, sendPage } from '../platform/http/pages/page.ts'
import { serviceContext } from '../platform/http/procedures/request-context.ts'
import { unsubscribe, unsubscribingUserId } from './unsubscribe.ts'

const ASK = pageOf({
  title: 'No more mails about notifications?',
  body: `<section>
<h1>No more mails about notifications?</h1>
<p class="intro">You still get the notifications themselves, and mails about your account, such as a new password.</p>
<form method="post"><button>Stop the mails</button></form>
</section>`,
  hasPlainForm: true,
})

const notice = (title: string, text: string) =>
  pageOf({
    title,
    body: `<section>
<h1>${title}</h1>
<p role="status">${text}</p>
<p><a class="button" href="${START.href}">${START.text}</a></p>
</section>`,
  })

const DONE = notice('No more mails', 'You will get no more mails about notifications. You can turn them on again in your profile.')
const UNKNOWN = notice('This link is incomplete', 'Open it again from the mail, or copy all of it.')

const MAX_BODY_BYTES = 10_000

interface Path {
  Params: { token: string }
}

/** The link itself is the credential. A mail program sends a POST to it (RFC 8058). */
export function mountUnsubscribe(app: FastifyInstance, { settings }: Deps): void {
  app.register(async (scope) => {
    // The form may have either content type. Its content is ignored, because the link says everything.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_, __, done) => done(null))
    scope.get<Path>('/unsubscribe/:token', async ({ params }, reply) =>
      unsubscribingUserId(settings.secretKeys, params.token) === null ? sendPage(reply, UNKNOWN, 404) : sendPage(reply, ASK),
    )
    scope.post<Path>('/unsubscribe/:token', async ({ params, context }, reply) => {
      const userId = unsubscribingUserId(settings.secretKeys, params.token)
      const isKnown = userId !== null && (await unsubscribe(serviceContext(context, systemActor), userId))
      return isKnown ? sendPage(reply, DONE) : sendPage(reply, UNKNOWN, 404)
    })
  })
}
