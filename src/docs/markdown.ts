/** Pages in Markdown as HTML. Nothing but what the renderer writes becomes an element: HTML in a page is shown as text. */
import { posix } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { escapeHtml } from '../platform/mail/html.ts'

export interface Heading {
  id: string
  text: string
  depth: number
}

export interface RenderedPage {
  html: string
  headings: Heading[]
}

/**
 * @param path of the page from the root of the repository, which its links start from
 * @param addressOf the address of another file of the repository; undefined if it is not shown
 */
export function renderMarkdown(text: string, path: string, addressOf: (path: string) => string | undefined): RenderedPage {
  const headings: Heading[] = []
  const newId = uniqueIds()
  const linkTo = (href: string): string | undefined => {
    if (href.startsWith('#')) return href
    if (/^[a-z][a-z\d+.-]*:/i.test(href)) return /^(https?|mailto):/i.test(href) ? href : undefined
    const [file = '', anchor] = href.split('#')
    const address = addressOf(posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, ''))
    return address === undefined ? undefined : address + (anchor ? `#${anchor}` : '')
  }
  const marked = new Marked({ gfm: true })
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        const plain = plainText(tokens)
        const id = newId(plain)
        headings.push({ id, text: plain, depth })
        const link = depth === 1 ? '' : ` <a class="anchor" href="#${id}" aria-label="Link to “${escapeHtml(plain)}”">#</a>`
        return `<h${depth} id="${id}">${html}${link}</h${depth}>\n`
      },
      code: ({ text: code, lang }) => (lang === 'mermaid' ? diagram(code) : codeBlock(code)),
      html: ({ text: html }) => (html.trimStart().startsWith('<!--') ? '' : escapeHtml(html)),
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens)
        const address = linkTo(href)
        return address === undefined
          ? `<span class="file" title="In the repository">${html}</span>`
          : `<a href="${escapeHtml(address)}">${html}</a>`
      },
      image: ({ href, text: alt }) => {
        const address = linkTo(href)
        return address ? `<img src="${escapeHtml(address)}" alt="${escapeHtml(alt)}" loading="lazy">` : escapeHtml(alt)
      },
      table(token) {
        return tableOf(token, (cell) => this.parser.parseInline(cell.tokens))
      },
    },
  })
  return { html: marked.parse(text, { async: false }), headings }
}

/** A block of code that the keyboard reaches, so that a wide one can be scrolled. */
const codeBlock = (code: string): string => `<div class="code"><pre tabindex="0"><code>${escapeHtml(code)}</code></pre></div>\n`

const diagram = (code: string) => `<details class="diagram"><summary>The diagram as Mermaid text</summary>${codeBlock(code)}</details>\n`

function tableOf({ header, rows }: Tokens.Table, html: (cell: Tokens.TableCell) => string): string {
  const head = header.map((cell) => `<th scope="col">${html(cell)}</th>`).join('')
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${html(cell)}</td>`).join('')}</tr>`).join('\n')
  const table = `<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${body}\n</tbody></table>`
  return `<div class="table" tabindex="0" role="group" aria-label="Table">${table}</div>\n`
}

type Inline = { text?: string; tokens?: Inline[]; raw: string }
const plainText = (tokens: Inline[]): string =>
  tokens.map(({ tokens: inner, text, raw }) => (inner ? plainText(inner) : (text ?? raw))).join('')

/** Ids of headings as GitHub makes them, which the links between the pages name. */
export function uniqueIds(): (text: string) => string {
  const counts = new Map<string, number>()
  return (text) => {
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count ? `${slug}-${count}` : slug
  }
}
