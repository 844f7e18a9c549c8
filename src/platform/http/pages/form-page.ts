/** Pages with a form that is sent to an operation of the API. Their texts are all in the HTML; `form.js` shows and hides them. */
import type { FastifyInstance } from 'fastify'
import { fileHere, type Page, pageOf, sendPage } from './page.ts'

export interface FormPage {
  /** Such as `/reset`. */
  path: string
  title: string
  /** HTML. In `<b data-value="email"></b>` stands the address that the link carries. */
  intro: string
  /** Whether a mail links to the page, with a token and the person's address (links.ts). */
  hasToken: boolean
  /** Of `textField` and `passwordField`. */
  fields: readonly string[]
  button: string
  /** The path of the operation. It gets the fields by name, and the token as `token`. */
  operation: string
  /** Whether the operation also takes the time zone of the browser, as `timezone`. */
  sendsTimeZone?: boolean
  /** In place of the form after success. `data-value` may also name a property of the answer, or a field. */
  done: Notice
  /** In place of the form when the operation does not take the token any more. */
  expired?: Notice
}

interface Notice {
  title: string
  /** HTML. */
  text: string
  /** Where to go from here. */
  next: Link
}

export interface Link {
  text: string
  href: string
}

/** Where everybody begins: the console. */
export const START: Link = { text: 'Go to Gridpost', href: '/' }

interface Field {
  name: string
  label: string
  hint?: string
  /** Attributes of the input, as HTML. */
  attributes: string
  /** What to say if the browser finds the value wrong. */
  wrong: string
}

export const textField = (field: Field): string => fieldOf(field, '')

/** @param label says whose password it is, or that it is a new one */
export const passwordField = (field: Pick<Field, 'name' | 'label'>): string =>
  fieldOf(
    {
      ...field,
      hint: '10 characters or more. Three or four words are easy to remember.',
      attributes: 'type="password" autocomplete="new-password" required minlength="10" maxlength="200" spellcheck="false"',
      wrong: 'Choose a password with 10 characters or more.',
    },
    '<button type="button" class="reveal">Show<span class="unseen"> password</span></button>',
  )

const fieldOf = ({ name, label, hint, attributes, wrong }: Field, beside: string) => `<div class="field">
<label for="${name}">${label}</label>
<div class="input"><input id="${name}" name="${name}" ${attributes} data-wrong="${wrong}"
aria-describedby="${name}-hint ${name}-wrong">${beside}</div>
${hint ? `<p class="hint" id="${name}-hint">${hint}</p>\n` : ''}<p class="wrong" id="${name}-wrong" role="alert"></p>
</div>`

const SCRIPT = fileHere('form.js')

/** A password manager stores a new password with the name that it finds in the form. It has no name of its own, so it is not sent. */
const USERNAME = '<input type="text" autocomplete="username" aria-label="Your account" readonly hidden>'

const notice = (id: string, { title, text, next }: Notice) => `<section id="${id}" hidden>
<h1 tabindex="-1">${title}</h1>
<p>${text}</p>
<p><a class="button" href="${next.href}">${next.text}</a></p>
</section>`

/** @returns the page, without what the link says: the browser alone knows it */
function formPage({ title, intro, hasToken, fields, button, operation, sendsTimeZone, done, expired }: FormPage): Page {
  const data = [`data-operation="${operation}"`, hasToken ? 'data-has-token' : '', sendsTimeZone ? 'data-sends-time-zone' : '']
  const body = `<section id="ask">
<h1 tabindex="-1">${title}</h1>
<p class="intro">${intro}</p>
<form novalidate ${data.join(' ')}>
${hasToken ? `${USERNAME}\n` : ''}${fields.join('\n')}
<p class="wrong" id="problem" role="alert"></p>
<button type="submit" disabled>${button}</button>
</form>
<noscript><p class="wrong">This page needs JavaScript: allow it, and open the link again.</p></noscript>
</section>
${notice('done', done)}
${expired ? notice('expired', expired) : ''}`
  return pageOf({ title, body, script: SCRIPT })
}

export function mountFormPages(app: FastifyInstance, pages: readonly FormPage[]): void {
  for (const page of pages) {
    const made = formPage(page)
    app.get(page.path, async (_, reply) => sendPage(reply, made))
  }
}
