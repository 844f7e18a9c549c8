/** The law of the tree (README.md) as rules. Each names what is wrong, why that hurts, and what to do instead. */
import type { SourceFacts } from './source-facts.ts'

export interface Finding {
  path: string
  line?: number
  /** What is wrong, in a few words. */
  what: string
  why: string
  instead: string
  /** Told, but no reason to fail. */
  isWarning?: boolean
}

/** Imports run one way: each feature may know those before it. */
const FEATURES = 'accounts auth keys spaces tables views indexes records files csv notifications comments tasks email streams demo'.split(
  ' ',
)
/** The pages at the root that put the features together; every other file at the root is plumbing. */
const TOP_PAGES = ['main.ts', 'deps.ts', 'app.ts', 'router.ts', 'background.ts', 'client.ts']

/** Who writes a table: a feature, or a file of the plumbing. */
const OWNERS: Record<string, string[]> = {
  accounts: ['accounts', 'users'],
  auth: ['sessions', 'invites', 'login_failures'],
  keys: ['api_keys'],
  'limits.ts': ['rate_windows'],
  'idempotency.ts': ['idempotency_keys'],
  'events.ts': ['events'],
  spaces: ['spaces', 'space_members'],
  tables: ['tables', 'fields', 'field_conversions', 'record_tallies'],
  views: ['views'],
  indexes: ['index_failures', 'index_uses'],
  'stored-files.ts': ['stored_files'],
  notifications: ['notifications'],
  comments: ['record_comments', 'subscriptions'],
  tasks: ['tasks', 'task_subscribers', 'task_comments', 'deleted_tasks'],
  email: [
    'smtp_integrations',
    'email_signatures',
    'outbound_emails',
    'reply_tokens',
    'inbound_emails',
    'inbound_deliveries',
    'email_opens',
  ],
}

const WARN_LINES = 300
const MOST_LINES = 350
const MOST_JOB_LINES = 12

const VAGUE = /^(index|utils?|helpers?|common|types?|lib|misc|shared|constants?|interfaces?|manager|handlers?|controllers?|models?|data)$/
const WRITES = /\.(\w+)\.(?:create|createMany|createManyAndReturn|update|updateMany|updateManyAndReturn|upsert|delete|deleteMany)$/
const SQL_WRITES =
  /\b(?:insert\s+into|delete\s+from|merge\s+into|truncate(?:\s+table)?|update(?:\s+only)?(?=\s+"?\w+"?\s+(?:(?:as\s+)?\w+\s+)?set\b))\s+"?(\w+)"?/gi

/** A file in its place: `src/tasks/router.ts` is the page `router.ts` of the feature `tasks`; at the root there is no feature. */
interface Place {
  feature: string | undefined
  page: string
}

function placeOf(path: string): Place {
  const [, ...parts] = path.split('/')
  return { feature: parts.length > 1 ? parts[0] : undefined, page: parts.slice(1).join('/') || (parts[0] ?? '') }
}

const isOurs = (to: string) => to.startsWith('src/')
const isTopPage = ({ feature, page }: Place) => !feature && TOP_PAGES.includes(page)
const reachesTheDatabase = (to: string) => to === 'src/db.ts' || to.includes('generated/prisma') || to.startsWith('@prisma/') || to === 'pg'

/** All findings in the tree. @param schema the text of prisma/schema.prisma */
export function findings(sources: SourceFacts[], schema: string): Finding[] {
  const tables = tablesOf(schema)
  return [
    ...ownerless(tables),
    ...sources.flatMap((source) => [
      ...names(source),
      ...size(source),
      ...pages(source),
      ...direction(source),
      ...writes(source, tables),
      ...reserved(source),
    ]),
    ...cycles(sources),
  ]
}

/** Table → the name of its delegate in Prisma's client. */
function tablesOf(schema: string): Map<string, string> {
  const tables = new Map<string, string>()
  for (const [, model = '', body = ''] of schema.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)) {
    const table = /@@map\("(\w+)"\)/.exec(body)?.[1] ?? model
    tables.set(table, model.charAt(0).toLowerCase() + model.slice(1))
  }
  return tables
}

const ownerOf = (table: string) => Object.keys(OWNERS).find((owner) => OWNERS[owner]?.includes(table))

function ownerless(tables: Map<string, string>): Finding[] {
  return [...tables.keys()]
    .filter((table) => !ownerOf(table))
    .map((table) => ({
      path: 'prisma/schema.prisma',
      what: `nobody owns the table ${table}`,
      why: 'A table that two features write has rules in two places.',
      instead: 'Add it to OWNERS in scripts/house-rules.ts, under the one feature that writes it.',
    }))
}

function names({ path }: SourceFacts): Finding[] {
  const { feature, page } = placeOf(path)
  const why = 'A file at the root of src/ is plumbing, a folder is a feature: who knows the names finds the file before looking.'
  if (feature && !FEATURES.includes(feature)) {
    const instead = VAGUE.test(feature)
      ? 'Move each file to the feature it serves; what serves all of them is one file at the root, named after what it does.'
      : 'If it is a feature, give it its place in FEATURES in scripts/house-rules.ts; if not, it is a file of a feature or of the root.'
    return [{ path, what: `${feature}/ is no feature`, why, instead }]
  }
  if (feature && page.includes('/')) {
    const instead = `Name the file after its concept and put it into src/${feature}/ itself; if that folder has become two features, split it.`
    return [{ path, what: 'a folder within a feature', why: 'A feature is one flat list of pages.', instead }]
  }
  const name = page.replace(/\.ts$/, '')
  if (name === 'index') {
    const instead = 'Import from the file that has it, and delete the barrel.'
    return [{ path, what: 'a barrel', why: 'A barrel hides who needs whom, and makes cycles.', instead }]
  }
  if (VAGUE.test(name)) {
    const instead = 'Name it after the one thing it holds (reminder.ts, tokens.ts); if it holds several, those are several files.'
    return [{ path, what: `${page} says nothing`, why, instead }]
  }
  if (!/^[a-z]+(-[a-z0-9]+)*$/.test(name)) {
    const instead = 'Use one noun of the field in lower case, words joined by a hyphen: saved-view.ts.'
    return [{ path, what: `the name ${page}`, why: 'Names are guessed, so they have one form.', instead }]
  }
  return []
}

function size({ path, lines }: SourceFacts): Finding[] {
  if (lines <= WARN_LINES) return []
  const why = `A file fits in a head: about ${WARN_LINES} lines, at most ${MOST_LINES}.`
  const instead = 'It is two concepts by now: split it by concept, not by verb.'
  return [{ path, what: `${lines} lines`, why, instead, isWarning: lines <= MOST_LINES }]
}

/** What each page of a feature never holds. */
function pages({ path, imports, tags, ifs, calls, texts, functions }: SourceFacts): Finding[] {
  const { feature, page } = placeOf(path)
  const found: Finding[] = []
  const never = (line: number, what: string, why: string, instead: string) => found.push({ path, line, what, why, instead })
  const database = imports.filter(({ to }) => reachesTheDatabase(to))
  const queries = [...database, ...tags.filter(({ tag }) => tag === 'sql')]

  if (page.endsWith('router.ts')) {
    const why = 'A router is a table of contents: what exists, who may call it, which function answers.'
    for (const { line } of ifs)
      never(line, 'an `if` in a router', why, 'Let the service decide; who may call is an argument of the procedure.')
    for (const { line } of queries)
      never(line, 'a query in a router', why, 'Put it into service.ts (or queries.ts, if it is hot) and call that.')
  }
  if (!feature) return found
  if (page === 'schema.ts') {
    const why = 'A schema is the shape on the wire, which stays when rows change.'
    for (const { line } of database) never(line, 'rows in a schema', why, 'Say it in zod; service.ts and queries.ts turn rows into it.')
  }
  if (page === 'policy.ts') {
    const why = 'A policy is read aloud: it looks at what it is given, so that it can be tested with a table of cases.'
    for (const { line } of queries) never(line, 'a query in a policy', why, 'Let the procedure load what the rule needs, and pass it in.')
  }
  if (page === 'service.ts') {
    const why = 'Services serve requests, jobs and scripts alike.'
    for (const { line, to } of imports.filter(({ to }) => /^(fastify|@fastify\/|@trpc\/)/.test(to) || to === 'src/rest.ts'))
      never(line, `${to} in a service`, why, 'Take what you need from the scope, answer plain values, throw an AppError.')
  }
  if (page === 'queries.ts') {
    const why = 'queries.ts may read any table because it writes none.'
    const instead = 'Move the statement to service.ts of the feature that owns the table.'
    for (const { line } of calls.filter(({ callee }) => WRITES.test(callee) && callee.includes('prisma')))
      never(line, 'a write among the reads', why, instead)
    for (const { line, text } of texts) if ([...text.matchAll(SQL_WRITES)].length) never(line, 'a write among the reads', why, instead)
  }
  if (page === 'jobs.ts') {
    const why = `A job re-reads, decides and delegates, in at most ${MOST_JOB_LINES} lines: the rest could not be called from elsewhere.`
    for (const { line, lines, name } of functions)
      if (lines > MOST_JOB_LINES)
        never(line, `${name} has ${lines} lines`, why, 'Move what it does to service.ts or to the file of its concept.')
  }
  return found
}

/** Plumbing knows no feature, a feature knows those before it, and nobody knows the pages that put them together. */
function direction({ path, imports }: SourceFacts): Finding[] {
  const from = placeOf(path)
  const order = `Imports run one way: plumbing ← ${FEATURES.join(' ← ')}.`
  return imports.flatMap(({ to, line }): Finding[] => {
    if (!isOurs(to)) return []
    const target = placeOf(to)
    if (isTopPage(target) && !isTopPage(from)) {
      const instead = 'Pass what you need from it as an argument, or move that part to the plumbing.'
      return [
        { path, line, what: `imports ${to}`, why: `${target.page} puts the features together, so none of them can need it.`, instead },
      ]
    }
    if (!target.feature || isTopPage(from)) return []
    if (!from.feature) {
      const instead = `Let ${target.feature} hand it in (an argument, a registration in router.ts or background.ts), or move the shared part to the root.`
      return [{ path, line, what: `plumbing imports the feature ${target.feature}`, why: order, instead }]
    }
    if (FEATURES.indexOf(target.feature) <= FEATURES.indexOf(from.feature)) return []
    const instead = 'Let the later feature call the earlier one; two that need each other show a third thing: find it.'
    return [{ path, line, what: `${from.feature} imports ${to}`, why: order, instead }]
  })
}

function writes({ path, calls, texts }: SourceFacts, tables: Map<string, string>): Finding[] {
  const { feature, page } = placeOf(path)
  const delegates = new Map([...tables].map(([table, delegate]) => [delegate, table]))
  const written = [
    ...calls.map(({ callee, line }) => ({ table: delegates.get(WRITES.exec(callee)?.[1] ?? ''), line })),
    ...texts.flatMap(({ text, line }) => [...text.matchAll(SQL_WRITES)].map(([, table = '']) => ({ table: table.toLowerCase(), line }))),
  ]
  return written.flatMap(({ table, line }): Finding[] => {
    const owner = table && ownerOf(table)
    if (!owner || owner === (feature ?? page)) return []
    const why = `${owner} owns ${table}: its rules (tenant, versions, effects) hold only if every write goes through it.`
    return [
      { path, line, what: `writes ${table}`, why, instead: `Call a function of src/${owner}, or add one there that says what you mean.` },
    ]
  })
}

/** Things that one file does for all. */
function reserved({ path, imports, calls }: SourceFacts): Finding[] {
  const dates = imports
    .filter(({ to }) => path !== 'src/time.ts' && /^date-fns/.test(to))
    .map(({ line, to }) => ({
      line,
      what: `imports ${to}`,
      why: 'The library is wrong about days without a midnight; src/time.ts knows where.',
      instead: 'Use src/time.ts, and add there what it lacks.',
    }))
  const exits = calls
    .filter(({ callee }) => path !== 'src/main.ts' && callee === 'process.exit')
    .map(({ line }) => ({
      line,
      what: 'ends the process',
      why: 'Only src/main.ts knows what has to be closed first.',
      instead: 'Throw, and let main.ts end in order.',
    }))
  const consoles = calls
    .filter(({ callee }) => /^console\.\w+$/.test(callee))
    .map(({ line }) => ({
      line,
      what: 'writes to the console',
      why: 'Such lines have no level, no request id and no redaction.',
      instead: 'Use scope.log (or deps.log), with ids and without contents.',
    }))
  return [...dates, ...exits, ...consoles].map((finding) => ({ path, ...finding }))
}

/** Each group of files that need each other, once. */
function cycles(sources: SourceFacts[]): Finding[] {
  const needs = new Map(sources.map(({ path, imports }) => [path, [...new Set(imports.map(({ to }) => to).filter((to) => isOurs(to)))]]))
  const found = new Map<string, string[]>()
  const done = new Set<string>()
  const trail: string[] = []

  function follow(path: string): void {
    const start = trail.indexOf(path)
    if (start >= 0) {
      const cycle = trail.slice(start)
      found.set([...cycle].sort().join(), cycle)
      return
    }
    if (done.has(path)) return
    trail.push(path)
    for (const next of needs.get(path) ?? []) follow(next)
    trail.pop()
    done.add(path)
  }
  for (const path of needs.keys()) follow(path)

  return [...found.values()].map((cycle) => ({
    path: cycle[0] ?? '',
    what: `a cycle: ${[...cycle, cycle[0]].map((path) => path?.replace('src/', '')).join(' → ')}`,
    why: 'None of them can be understood, tested or loaded without the others.',
    instead: 'Move what both need into a third file that needs neither; for types, to the file that owns the noun.',
  }))
}
