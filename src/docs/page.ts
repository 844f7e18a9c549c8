/** The pages of the documentation in their frame: one of docs/, the list of all, what a search has found, and what does not exist. */
import { escapeHtml } from '../platform/mail/html.ts'
import type { DocFile, DocGroup } from './doc-files.ts'
import { type Heading, renderMarkdown } from './markdown.ts'
import type { Found } from './search.ts'
import { pageList, type Shown } from './shell.ts'

/** What all pages are shown with. */
export interface Library {
  files: readonly DocFile[]
  groups: readonly DocGroup[]
  /** The paths of the pictures from the root of the repository. */
  pictures: readonly string[]
}

const upFrom = (name: string) => '../'.repeat(2 + name.split('/').length - 1)

export function docPage(file: DocFile, { files, groups, pictures }: Library): Shown {
  const up = upFrom(file.name)
  const addressOf = (path: string) => {
    const page = files.find((other) => other.path === path || other.path === `${path}/README.md`)
    if (page) return `${up}docs/pages/${page.name}`
    return pictures.includes(path) ? `${up}docs/pages/${path.replace(/^docs\//, '')}` : undefined
  }
  const { html, headings } = renderMarkdown(file.text, file.path, addressOf)
  const main = `<div class="columns">
<nav class="pages" aria-label="Pages"><details><summary>All pages</summary>\n${pageList(groups, up, file.name)}\n</details></nav>
<main id="content" tabindex="-1"><article>\n${html}</article></main>
${contents(headings)}
</div>`
  return { title: `${file.title} · Gridpost`, up, current: 'pages', main, layout: 'page' }
}

/** The headings of a page, if they are worth a list. */
function contents(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3)
  if (shown.length < 2) return ''
  const links = shown.map(({ id, text, depth }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`)
  return `<nav class="contents" aria-label="On this page"><h2>On this page</h2>\n<ul>\n${links.join('\n')}\n</ul></nav>`
}

export function listPage({ groups }: Library): Shown {
  const lists = groups.map(({ title, files }) => `<section><h2>${title}</h2>\n${cards(files, '../')}\n</section>`)
  return {
    title: 'Pages · Gridpost',
    up: '../',
    current: 'pages',
    main: `<main id="content" tabindex="-1"><h1>Pages</h1>\n${lists.join('\n')}\n</main>`,
    layout: 'start',
  }
}

/** Pages with what they answer. */
export const cards = (files: readonly DocFile[], up: string): string =>
  `<ul class="cards">\n${files
    .map(({ name, title, about }) => `<li><a href="${up}docs/pages/${name}">${escapeHtml(title)}</a> <p>${escapeHtml(about)}</p></li>`)
    .join('\n')}\n</ul>`

export function searchPage(query: string, found: readonly Found[]): Shown {
  const shown = found.map(({ title, heading, address, excerpt }) => {
    const where = title === heading ? '' : ` <span class="where">${escapeHtml(title)}</span>`
    return `<li><a href="${address}">${escapeHtml(heading)}</a>${where} <p>${excerpt}</p></li>`
  })
  const nothing = query.trim()
    ? `<p>Nothing contains all of these words. Try fewer, or shorter ones.</p>`
    : '<p>Type words into the field above: all of them have to occur.</p>'
  const count = found.length === 1 ? '1 result' : `${found.length} results`
  const main = `<main id="content" tabindex="-1">
<h1>${query.trim() ? `Search for “${escapeHtml(query.trim())}”` : 'Search'}</h1>
${found.length ? `<p role="status">${count}</p>\n<ol class="found">\n${shown.join('\n')}\n</ol>` : nothing}
</main>`
  return { title: 'Search · Gridpost', up: '../', main, search: query, layout: 'start' }
}

export function missingPage(name: string): Shown {
  const main = `<main id="content" tabindex="-1"><h1>There is no such page</h1>
<p>Search for it above, or look at <a href="${upFrom(name)}docs/pages">all pages</a>.</p></main>`
  return { title: 'No such page · Gridpost', up: upFrom(name), main, layout: 'start' }
}
