/** The page /dev/mail. Each mail unfolds, and its forms are sent by the browser; `page.js` only shows new mails and local times. */
import { escapeHtml, sanitizeHtml } from '../../platform/mail/html.ts'
import { BOUNCES, isReplyAddress } from './answers.ts'
import type { CaughtMail } from './mail-folder.ts'

interface ShownMails {
  search: string
  /** The id of the mail that is unfolded; NaN for none. */
  open: number
  /** What was done to it. */
  done: string
}

const DONE: Record<string, string> = {
  replied: 'The reply was posted to the webhook; a job makes it a comment of the record.',
  bounced: 'The report was posted to the webhook; a job marks the recipient as bounced.',
  failed: 'The webhook did not take the message. The log says why.',
}

/** The longest text of a part on the page; the source has the rest. */
const MAX_SHOWN = 500_000

export function catcherPage(mails: CaughtMail[], view: ShownMails): string {
  const { search } = view
  const nothing = search ? `No mail contains “${escapeHtml(search)}”.` : 'No mail yet.'
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caught mail</title>
<style>${STYLE}</style>
<header>
<h1>Caught mail</h1>
<p>Nothing here was delivered. <span id="news">Reload to see new mails.</span> <a href="/dev/mail.json">All as JSON</a></p>
<form method="get" action="/dev/mail" role="search">
<label for="q">Search</label>
<input id="q" name="q" type="search" value="${escapeHtml(search)}" placeholder="subject, address or words"> <button>Search</button>
</form>
</header>
<main>
${mails.map((mail) => entry(mail, view)).join('\n') || `<p>${nothing}</p>`}
</main>
<script src="/dev/mail/page.js" defer></script>
</html>`
}

function entry(mail: CaughtMail, { open, done }: ShownMails): string {
  const { id, subject, from, envelopeTo, envelopeFrom, receivedAt, messageId, headers, attachments } = mail
  const facts: [string, string][] = [
    ['From', from],
    ['Delivered to', envelopeTo.join(', ')],
    ['Envelope sender', envelopeFrom],
    ['Reply to', headers['reply-to'] ?? ''],
    ['Message-ID', messageId],
    ['Attachments', attachments.map(({ name, size }) => `${name} (${size} bytes)`).join(', ')],
  ]
  const notice = id === open && Object.hasOwn(DONE, done) ? `<p class="notice" role="status">${DONE[done]}</p>\n` : ''
  const title = `<strong>${escapeHtml(subject || '(no subject)')}</strong> to ${escapeHtml(envelopeTo.join(', '))}`
  return `<details id="mail-${id}"${id === open ? ' open' : ''}>
<summary>${title} <time datetime="${receivedAt}">${timeText(receivedAt)}</time></summary>
${notice}<dl>${facts.flatMap(([name, value]) => (value ? `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>` : [])).join('')}</dl>
<div class="parts">
${part('HTML', htmlPart(mail))}
${part('Plain text', textPart(mail))}
${part('Source', `<iframe sandbox loading="lazy" title="Source" src="/dev/mail/${id}/source"></iframe>`)}
</div>
${answers(mail)}
</details>`
}

/** What is shown of an instant where no script knows the time zone of the reader. */
const timeText = (instant: string) => instant.replace(/^(.{10})T(.{5}).*$/, '$1 $2 UTC')

const part = (title: string, content: string) => `<section><h2>${title}</h2>${content}</section>`

const htmlPart = ({ html }: CaughtMail): string =>
  html === null
    ? '<p>The mail has no HTML.</p>'
    : `<iframe sandbox loading="lazy" title="Message" srcdoc="${escapeHtml(sanitizeHtml(html.slice(0, MAX_SHOWN)))}"></iframe>`

const textPart = ({ text }: CaughtMail): string =>
  text === null ? '<p>The mail has no plain text.</p>' : `<pre tabindex="0">${escapeHtml(text.slice(0, MAX_SHOWN))}</pre>`

/** The forms that answer the mail. A mail whose answers go elsewhere, such as a notification, has none. */
function answers(mail: CaughtMail): string {
  const { id, envelopeTo, envelopeFrom, headers } = mail
  const recipients = envelopeTo.map((address) => `<option>${escapeHtml(address)}</option>`).join('')
  const kinds = Object.entries(BOUNCES).map(([kind, { label, status }]) => `<option value="${kind}">${label} (${status})</option>`)
  const reply = `<form method="post" action="/dev/mail/${id}/reply">
<h2>Reply</h2>
<label>As <select name="from">${recipients}</select></label>
<label>Text <textarea name="text" rows="3" required>Thank you, that suits me.</textarea></label>
<button>Send the reply</button>
</form>`
  const bounce = `<form method="post" action="/dev/mail/${id}/bounce">
<h2>Bounce</h2>
<label>Recipient <select name="recipient">${recipients}</select></label>
<label>Because <select name="kind">${kinds.join('')}</select></label>
<button>Send the report</button>
</form>`
  const offered = [...(isReplyAddress(headers['reply-to']) ? [reply] : []), ...(isReplyAddress(envelopeFrom) ? [bounce] : [])]
  return offered.length ? `<div class="answers">\n${offered.join('\n')}\n</div>` : ''
}

const STYLE = `
  :root { color-scheme: light dark; --line: light-dark(#d0d4da, #454a52) }
  :root { --soft: light-dark(#5b6270, #a4abb6); --mark: light-dark(#e6f2e6, #21372a) }
  * { box-sizing: border-box }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 110rem; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1rem; margin: 0 0 .4rem }
  header p { margin: .2rem 0 .8rem } header form { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; margin: 0 0 1.2rem }
  input, select, textarea, button { font: inherit; padding: .25rem .5rem } input { flex: 0 1 26rem; min-width: 0 }
  details { border: 1px solid var(--line); border-radius: 6px; margin: 0 0 .75rem; padding: .5rem .9rem }
  summary { cursor: pointer; overflow-wrap: anywhere }
  time, dt { color: var(--soft) } time { white-space: nowrap }
  .notice { background: var(--mark); border-radius: 4px; padding: .4rem .7rem }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem } dd { margin: 0; overflow-wrap: anywhere }
  @media (max-width: 30rem) { dl { grid-template-columns: 1fr } dd { margin: 0 0 .4rem } }
  .parts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem }
  .parts section { min-width: 0 }
  iframe, pre { width: 100%; height: 24rem; margin: 0; border: 1px solid var(--line) }
  iframe { background: #fff; color-scheme: light }
  pre { overflow: auto; padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere }
  .answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem; margin: 1rem 0 .5rem }
  .answers form { border-top: 1px solid var(--line); padding-top: .8rem }
  .answers label { display: block; margin: 0 0 .5rem } .answers textarea { width: 100%; display: block }
`
