/** The frame of every page of the documentation. All addresses in it are relative, so that the service may be below a path of a proxy. */
import { escapeHtml } from '../platform/mail/html.ts'
import type { DocGroup } from './doc-files.ts'

export interface Shown {
  title: string
  /** From the address of the page to the root of the service: `../../`. */
  up: string
  /** The entry of the header that is marked as the current one. */
  current?: 'start' | 'reference' | 'pages'
  /** HTML. */
  main: string
  /** Names of scripts in assets/, beside the one of every page. */
  scripts?: string[]
  /** What the search field contains. */
  search?: string
  /** Names of the layout in the style sheet. */
  layout: 'start' | 'page' | 'reference'
}

/** @param version changes with the files in assets/, so that browsers do not keep those of another release */
export function shell({ title, up, current, main, scripts = [], search = '', layout }: Shown, version: string): string {
  const asset = (name: string) => `${up}docs/assets/${name}?v=${version}`
  const entry = (name: Shown['current'], path: string, text: string) =>
    `<a href="${up}${path}"${name === current ? ' aria-current="page"' : ''}>${text}</a>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${asset('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${asset('frame.css')}">
${layout === 'reference' ? '' : `<link rel="stylesheet" href="${asset('docs.css')}">`}
</head>
<body class="${layout}" data-up="${up}">
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="${up}docs"><img src="${asset('favicon.svg')}" alt="" width="24" height="24"> Gridpost</a>
<nav aria-label="Documentation">
${entry('start', 'docs', 'Start')}
${entry('reference', 'docs/reference', 'API reference')}
${entry('pages', 'docs/pages', 'Pages')}
</nav>
<form role="search" action="${up}docs/search">
<label class="label" for="search">Search the documentation</label>
<input id="search" name="q" type="search" value="${escapeHtml(search)}" placeholder="Search" maxlength="200" autocomplete="off">
</form>
</header>
${main}
<script src="${asset('docs.js')}" defer></script>
${scripts.map((name) => `<script src="${asset(name)}" defer></script>`).join('\n')}
</body>
</html>
`
}

/** The list of all pages, beside a page. */
export function pageList(groups: readonly DocGroup[], up: string, current: string): string {
  const entries = groups.map(({ title, files }) => {
    const links = files.map(
      ({ name, title: text }) =>
        `<li><a href="${up}docs/pages/${name}"${name === current ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a></li>`,
    )
    return `<h2>${title}</h2>\n<ul>\n${links.join('\n')}\n</ul>`
  })
  return entries.join('\n')
}
