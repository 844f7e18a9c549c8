/**
 * The frame of the pages that people without the API see: those that mails link to. A page is one file, with its style and script inside,
 * and its policy lets nothing else load or run.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'

export interface Page {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
}

interface Content {
  title: string
  /** HTML. */
  body: string
  /** JavaScript that calls operations of the API. */
  script?: string
  /** Whether the browser itself sends a form to the address of the page. */
  hasPlainForm?: boolean
}

/** The text of a file beside this one. */
export const fileHere = (name: string): string => readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8')

/** The tokens of the console, so that these pages look like it. */
const STYLE = fileHere('../../../../console/src/ui/tokens.css') + fileHere('page.css')

/** A grid, one cell of which is filled. */
const MARK =
  '<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><rect width="24" height="24" rx="6"/>' +
  '<path d="M6 6h5v5H6z M13 6h5v5h-5z M6 13h5v5H6z"/><path d="M13 13h5v5h-5z"/></svg>'

export function pageOf({ title, body, script, hasPlainForm = false }: Content): Page {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Gridpost</title>
<style>${STYLE}</style>
</head>
<body>
<p class="brand">${MARK} Gridpost</p>
<main>
${body}
</main>
${script ? `<script>${script}</script>\n` : ''}</body>
</html>
`
  const policy = [
    "default-src 'none'",
    `style-src '${digestOf(STYLE)}'`,
    ...(script ? [`script-src '${digestOf(script)}'`, "connect-src 'self'"] : []),
    `form-action ${hasPlainForm ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  return {
    html,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
  }
}

const digestOf = (text: string) => `sha256-${hash('sha256', text, 'base64')}`

export const sendPage = (reply: FastifyReply, { html, headers }: Page, status = 200): FastifyReply =>
  reply.code(status).headers(headers).send(html)
