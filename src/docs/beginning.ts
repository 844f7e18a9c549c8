/** The first page: what the service is, how to get a key, the first calls, and where everything else is. */
import { escapeHtml } from '../platform/mail/html.ts'
import { FIRST_CALL, KEY, type Language, SECOND_CALL } from './first-calls.ts'
import { cards, type Library } from './page.ts'
import type { Area } from './reference.ts'
import { BASE } from './samples.ts'
import type { Shown } from './shell.ts'

export interface Visit {
  /** From the address of the page to the root of the service. */
  up: string
  /** The address of the service, which the script replaces with the one that the browser uses. */
  base: string
  /** Whether the browser sent the cookie of a session, which may have ended. */
  hasSession: boolean
}

export function beginning(areas: readonly Area[], { groups }: Library, { up, base, hasSession }: Visit): Shown {
  const page = (name: string, text: string) => `<a href="${up}docs/pages/${name}">${text}</a>`
  const main = `<main id="content" tabindex="-1">
<div class="intro">
<h1>Build on Gridpost</h1>
<p class="lead">Gridpost is the backend of a team that keeps its work in tables: records and saved views,
tasks with due times on records, and email that leaves from a record and comes back to it. It is yours,
and runs at <code data-base>${escapeHtml(base)}</code>.</p>
<p>Programs talk to it over REST, from TypeScript with a typed client, and by ${page('events', 'live events')}.
${page('concepts', 'Concepts')} says what accounts, spaces, tables and records are.</p>
</div>

<section aria-labelledby="key">
<h2 id="key"><span class="step">1</span> Sign in or get a key</h2>
<p>A program sends a key with each request. Keys are made by people who are signed in;
a browser needs none, because it has the cookie of its session.</p>
${keyForms(hasSession)}
<details class="more"><summary>From the command line, and without an account</summary>
${code(
  `curl -c cookies.txt ${BASE}/api/auth/login -H 'Content-Type: application/json' \\
  -d '{"email": "you@example.com", "password": "…"}'
curl -b cookies.txt ${BASE}/api/keys/create -H 'Content-Type: application/json' \\
  -d '{"kind": "personal", "name": "My first program"}'`,
  base,
)}
<p>People join by an invitation of an admin of a space. A start without users prints a link that creates the first one,
and that of a trial a demo account with its keys.
What each kind of key may do is in ${page('authentication', 'Authentication')}. <a href="${up}forgot">Forgot the password?</a></p>
</details>
</section>

<section aria-labelledby="call">
<h2 id="call"><span class="step">2</span> Make the first call</h2>
<p>It lists the spaces that the key can see.</p>
${languages(FIRST_CALL, base)}
<p><button type="button" id="run">Run it here</button></p>
<div id="answer" role="status"></div>
</section>

<section aria-labelledby="records">
<h2 id="records"><span class="step">3</span> Read records, and put a task on one</h2>
<p>In the demo account, table 4 has contacts, and its view 8 shows those due this week. In your own account, take the ids from
<a href="${up}docs/reference#tag/tables/tables.list">the list of tables</a>.</p>
${languages(SECOND_CALL, base)}
<p>${page('errors', 'Errors')} name every wrong input, ${page('paging', 'pages')} have cursors,
and ${page('queries', 'queries')} filter, search and group.</p>
</section>

<section aria-labelledby="operations">
<h2 id="operations">All operations, by area</h2>
<p>The <a href="${up}docs/reference">API reference</a> has each of them with its inputs, errors and samples in many languages,
and sends a request from the page. <a href="${up}openapi.json">openapi.json</a> is the same for programs.</p>
<div class="areas">
${areas.map((area) => areaOf(area, up)).join('\n')}
</div>
</section>

<section aria-labelledby="read">
<h2 id="read">Read on</h2>
${groups.map(({ title, files }) => `<h3>${title}</h3>\n${cards(files, up)}`).join('\n')}
</section>
</main>`
  return { title: 'Gridpost API', up, current: 'start', main, scripts: ['beginning.js'], layout: 'start' }
}

/** The script shows those that fit: the demo's users, the form, or who is signed in. */
const keyForms = (hasSession: boolean) => `<div class="panel" id="account"${hasSession ? ' data-session' : ''}>
<noscript><p>The forms here need scripts. The command line below does the same.</p></noscript>
<div id="signed-in" hidden>
<p>You are signed in as <strong id="who"></strong>.</p>
<p class="buttons"><button type="button" id="new-key">Create a personal key</button>
<button type="button" class="quiet" id="sign-out">Sign out</button></p>
</div>
<div id="demo" hidden>
<p><strong>This service runs on your machine, with a demo account.</strong> One click is enough:</p>
<p class="buttons"><button type="button" id="demo-key">Get a demo key</button></p>
<p>Or sign in, to call operations from this browser, as</p>
<p class="buttons" id="demo-users"></p>
</div>
<details id="sign-in" hidden>
<summary>Sign in with a password</summary>
<form>
<label>Email address <input name="email" type="email" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>
</details>
<div id="made" hidden>
<label>Your key. It is shown only now; the samples below have it, too.
<input id="secret" readonly spellcheck="false" autocomplete="off"></label>
<button type="button" class="quiet" id="copy-key">Copy the key</button>
</div>
<p id="key-status" role="status"></p>
</div>`

/** A block of code in which the address and the key are to be filled in. */
function code(text: string, base: string): string {
  const html = escapeHtml(text)
    .replaceAll(BASE, `<span data-base>${escapeHtml(base)}</span>`)
    .replaceAll(KEY, '<span data-key>gp_…</span>')
  return `<div class="code"><pre tabindex="0"><code>${html}</code></pre></div>`
}

/** The same in several languages, one below the other until the script makes tabs of them. */
function languages(all: readonly Language[], base: string): string {
  const sections = all.map(({ name, code: text }) => `<section data-language="${name}"><h3>${name}</h3>${code(text, base)}</section>`)
  return `<div class="languages">\n${sections.join('\n')}\n</div>`
}

function areaOf({ name, description, operations }: Area, up: string): string {
  const entries = operations.map(({ method, path, summary, anchor }) => {
    const call = `<code><span class="method ${method}">${method.toUpperCase()}</span> ${escapeHtml(path)}</code>`
    return `<li><a href="${up}docs/reference#${anchor}">${escapeHtml(summary)}</a> ${call}</li>`
  })
  const title = `<span class="name"><strong>${escapeHtml(name)}</strong> <span class="count">${operations.length}</span></span>`
  return `<details><summary>${title} <span class="about">${escapeHtml(description)}</span></summary>
<ul>\n${entries.join('\n')}\n</ul></details>`
}
