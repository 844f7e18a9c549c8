/** The pages that mails link to: an invitation, and a new password. A token follows the #, so that no server or proxy logs it. */
import type { FastifyInstance } from 'fastify'

/** A page whose form is sent to an operation of the API, with the token of the link if it has one. */
interface LinkPage {
  path: string
  title: string
  hasToken: boolean
  /** The fields of the form, as HTML. */
  fields: string
  button: string
  operation: string
  /** A JavaScript expression for further inputs. */
  inputs: string
  /** The text for a token that is not valid any more. */
  expired: string
  /** A JavaScript expression for the text after success; `body` is the answer. */
  done: string
}

const NEW_PASSWORD = `<label>A password
<input name="password" type="password" autocomplete="new-password" required minlength="10" maxlength="200"></label>
<p>10 characters or more.</p>`

const PAGES: LinkPage[] = [
  {
    path: '/invite',
    title: 'Join on Gridpost',
    hasToken: true,
    fields: `<label>Your name <input name="name" autocomplete="name" required maxlength="100"></label>\n${NEW_PASSWORD}`,
    button: 'Accept the invitation',
    operation: '/api/auth/acceptInvite',
    inputs: '{ timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }',
    expired: 'This invitation is not valid any more.',
    done: "'Welcome, ' + body.name + '. You are signed in as ' + body.email + '.'",
  },
  {
    path: '/reset',
    title: 'Set a new password for Gridpost',
    hasToken: true,
    fields: NEW_PASSWORD,
    button: 'Set the password',
    operation: '/api/auth/reset',
    inputs: '{}',
    expired: 'This link is not valid any more: it works once and for an hour. Ask for another one.',
    done: "'Your new password is set. You are signed out everywhere; sign in with it.'",
  },
  {
    path: '/forgot',
    title: 'Get a new password for Gridpost',
    hasToken: false,
    fields: '<label>Your address <input name="email" type="email" autocomplete="email" required></label>',
    button: 'Mail me a link',
    operation: '/api/auth/forgot',
    inputs: '{}',
    expired: '',
    done: "'If you have an account with this address, a mail with a link is on its way.'",
  },
]

const html = ({ path, title, fields, button }: LinkPage) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="${path}/page.css">
</head>
<body>
<main>
<h1>${title}</h1>
<form>
${fields}
<button>${button}</button>
</form>
<p role="status"></p>
</main>
<script src="${path}/page.js"></script>
</body>
</html>
`

const STYLE = `body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; background: #f4f5f7; color: #1c2430 }
main { max-width: 24rem; margin: 10vh auto; padding: 2rem; background: #fff; border-radius: .5rem; box-shadow: 0 1px 4px #0002 }
h1 { font-size: 1.25rem; margin-top: 0 }
label { display: block; margin-bottom: .75rem }
input { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit }
input { border: 1px solid #98a2b3; border-radius: .25rem }
button { padding: .5rem 1rem; font: inherit; color: #fff; background: #1d4ed8; border: 0; border-radius: .25rem; cursor: pointer }
`

const INCOMPLETE = `if (location.hash.length < 2) say('This link is incomplete: open it again from the mail.')
`

const script = ({ operation, hasToken, inputs, expired, done }: LinkPage) => `const form = document.querySelector('form')
const say = (text) => { document.querySelector('[role=status]').textContent = text }
${hasToken ? INCOMPLETE : ''}form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const answer = await fetch('${operation}', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ${hasToken ? 'token: location.hash.slice(1), ' : ''}...Object.fromEntries(new FormData(form)), ...${inputs} }),
  })
  const body = await answer.json()
  if (!answer.ok) return say(body.issues?.some(({ path }) => path[0] === 'token') ? '${expired}' : body.message)
  form.remove()
  say(${done})
})
`

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export function mountLinkPages(app: FastifyInstance): void {
  for (const page of PAGES) {
    const serve = (path: string, type: string, text: string) =>
      app.get(path, async (_, reply) => reply.headers(HEADERS).type(`${type}; charset=utf-8`).send(text))
    serve(page.path, 'text/html', html(page))
    serve(`${page.path}/page.css`, 'text/css', STYLE)
    serve(`${page.path}/page.js`, 'text/javascript', script(page))
  }
}
