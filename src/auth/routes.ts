/** The page that an invitation mail links to. The token follows the #, so that no server or proxy logs it. */
import type { FastifyInstance } from 'fastify'

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Join on Gridpost</title>
<link rel="stylesheet" href="/invite/page.css">
</head>
<body>
<main>
<h1>Join on Gridpost</h1>
<form>
<label>Your name <input name="name" autocomplete="name" required maxlength="100"></label>
<label>A password <input name="password" type="password" autocomplete="new-password" required minlength="10" maxlength="200"></label>
<p>10 characters or more.</p>
<button>Accept the invitation</button>
</form>
<p role="status"></p>
</main>
<script src="/invite/page.js"></script>
</body>
</html>
`

const STYLE = `body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; background: #f4f5f7; color: #1c2430 }
main { max-width: 24rem; margin: 10vh auto; padding: 2rem; background: #fff; border-radius: .5rem; box-shadow: 0 1px 4px #0002 }
h1 { font-size: 1.25rem; margin-top: 0 }
label { display: block; margin-bottom: .75rem }
input { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit; border: 1px solid #98a2b3; border-radius: .25rem }
button { padding: .5rem 1rem; font: inherit; color: #fff; background: #1d4ed8; border: 0; border-radius: .25rem; cursor: pointer }
`

const SCRIPT = `const form = document.querySelector('form')
const say = (text) => { document.querySelector('[role=status]').textContent = text }
if (location.hash.length < 2) say('This link is incomplete: open it again from the mail.')
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { name, password } = Object.fromEntries(new FormData(form))
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const answer = await fetch('/api/auth/acceptInvite', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: location.hash.slice(1), name, password, timezone }),
  })
  const body = await answer.json()
  if (!answer.ok) return say(body.issues?.some(({ path }) => path[0] === 'token') ? 'This invitation is not valid any more.' : body.message)
  form.remove()
  say('Welcome, ' + body.name + '. You are signed in as ' + body.email + '.')
})
`

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export function mountInvitePage(app: FastifyInstance): void {
  app.get('/invite', async (_, reply) => reply.headers(HEADERS).type('text/html; charset=utf-8').send(PAGE))
  app.get('/invite/page.css', async (_, reply) => reply.headers(HEADERS).type('text/css; charset=utf-8').send(STYLE))
  app.get('/invite/page.js', async (_, reply) => reply.headers(HEADERS).type('text/javascript; charset=utf-8').send(SCRIPT))
}
