/**
 * The law of the tree (CONTRIBUTING.md) as rules, each with its reason and a way out. Here are only the rules that no tool has: names in
 * kebab case, barrels, console output, and who may import date-fns or Vitest's `it`, are Biome's (biome.json), unused exports are knip's
 * (knip.jsonc).
 */
import { isRouter, PAGE_RULES, SQL_WRITES, WRITES } from './page-rules.ts'
import type { SourceFacts } from './source-facts.ts'
import { bareAliases } from './sql-rules.ts'
import { crowded, cycles, type Finding, size, VAGUE, vague, width } from './tree-rules.ts'

/** Imports run one way: each feature may import those before it. */
const FEATURES =
  'audit events accounts auth keys preferences spaces fields tables conversions views indexes records files csv jobs notifications comments tasks email people demo docs console'.split(
    ' ',
  )
/** The folder that every feature builds on, and that imports none of them. */
const PLATFORM = 'platform'
/**
 * The rooms of the platform from the ground up; each feature chooses its own. Each room may import those before it, and all of them the
 * ground floor, the files of the folder itself. A room with rooms inside stands where its own files do: `database` is below `database/nodes`.
 */
const PLATFORM_ROOMS = [
  'collections',
  'time',
  'concurrency',
  'tracing',
  'metrics',
  'processes',
  'bytes',
  'storage',
  'mail',
  'database/statements',
  'database',
  'database/embedded',
  'database/nodes',
  'database/replicas',
  'database/migrations',
  'secrets',
  'stored-files',
  'jobs',
  'writers',
  'access',
  'http/answers',
  'http/pages',
  'http/bodies',
  'http/load',
  'http/procedures',
  'http/openapi',
  'http',
]
/** The files at the root put the features together. No feature imports them, except for settings.ts, which imports nothing. */
const ROOT_FILES = ['main.ts', 'process.ts', 'service.ts', 'deps.ts', 'app.ts', 'router.ts', 'background.ts', 'client.ts', 'settings.ts']
/** The only writer of each table: a feature, or a file or room of the platform. */
const OWNERS: Record<string, string[]> = {
  audit: ['audit_entries', 'failed_sign_ins'],
  accounts: ['accounts', 'users'],
  auth: ['sessions', 'invites', 'password_resets', 'address_changes', 'sign_in_failures', 'known_pairs', 'login_failures', 'last_seen'],
  keys: ['api_keys'],
  preferences: ['preferences'],
  'platform/access/remembered-access.ts': ['access_versions'],
  'platform/http/load/rate-limits.ts': ['rate_windows'],
  'platform/http/procedures/idempotency.ts': ['idempotency_keys'],
  'platform/secrets/secret-key-uses.ts': ['secret_key_uses'],
  people: ['erasures'],
  events: ['events'],
  spaces: ['spaces', 'space_members'],
  tables: ['tables', 'fields', 'record_tallies', 'deleted_rows'],
  records: ['bulk_changes', 'deleted_records'],
  conversions: ['field_conversions'],
  csv: ['record_imports'],
  views: ['views'],
  indexes: ['index_failures', 'index_uses'],
  'platform/stored-files': ['stored_files'],
  files: ['file_tallies'],
  notifications: ['notifications'],
  // Records and tasks share this table, because the rules of mentions, editing and following are the same.
  comments: ['record_comments', 'subscriptions', 'task_comments', 'task_subscribers'],
  tasks: ['tasks', 'deleted_tasks'],
  email: [
    'smtp_integrations',
    'email_signatures',
    'outbound_emails',
    'reply_tokens',
    'inbound_emails',
    'inbound_verdicts',
    'inbound_deliveries',
    'email_opens',
    'email_suppressions',
  ],
}

/** Who may ask whether records are on another server: a room, the database and the statement of the access check. */
const KNOWS_ELSEWHERE = ['src/tables/elsewhere/', 'src/platform/database/', 'src/platform/access/resources.ts']

/** The features' files that may handle rows as PostgreSQL prints them: pages of records, exports, and how cells are written. */
const KNOWS_BYTES = ['src/records/query/', 'src/csv/', 'src/fields/cell-json.ts', 'src/fields/csv-rules.ts']
const PRINTED_ROWS = 'src/platform/database/statements/printed-rows.ts'

/** The location of a file: `src/tasks/sync/bulk.ts` is the file `bulk.ts` in the room `sync` of the feature `tasks`. */
interface Location {
  /** Undefined for a file at the root of src/. */
  feature: string | undefined
  /** The folders between the feature and the file; may be empty. */
  room: string
  file: string
}

function locationOf(path: string): Location {
  const folders = path.split('/').slice(1)
  const file = folders.pop() ?? ''
  const [feature, ...rooms] = folders
  return { feature, room: rooms.join('/'), file }
}

const isOurs = (to: string) => to.startsWith('src/')
const isRootFile = ({ feature, file }: Location) => !feature && file !== 'settings.ts'

/** Returns all findings in the tree. @param schema the text of prisma/schema.prisma */
export function findings(sources: SourceFacts[], schema: string): Finding[] {
  const tables = tablesOf(schema)
  return [
    ...ownerless(tables),
    ...sources.flatMap((source) => [
      ...names(source),
      ...size(source),
      ...width(source),
      ...pages(source),
      ...direction(source),
      ...writes(source, tables),
      ...exits(source),
      ...bytes(source),
      ...elsewhere(source),
      ...aliases(source),
    ]),
    ...crowded(sources.filter(({ path }) => locationOf(path).feature)),
    ...cycles(sources),
  ]
}

/** Maps each table to the name of its delegate in Prisma's client. */
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
  const { feature, room, file } = locationOf(path)
  if (!feature) return ROOT_FILES.includes(file) ? [] : [misplaced(path)]
  const wrongFolder = folderFinding(path, feature, room)
  if (wrongFolder) return [wrongFolder]
  return vague(path)
}

function misplaced(path: string): Finding {
  const why = 'The root of src/ only puts the parts together; a reader who opens it first should see nothing else.'
  const instead = 'Move it to the feature it serves, or to a room of src/platform/ when it knows no feature.'
  return { path, what: 'lies at the root', why, instead }
}

function folderFinding(path: string, feature: string, room: string): Finding | undefined {
  if (feature === PLATFORM) {
    if (!room || PLATFORM_ROOMS.includes(room)) return undefined
    const instead = 'Move it to one of those rooms, or give the room its place in PLATFORM_ROOMS in scripts/house-rules.ts.'
    return { path, what: `platform/${room}/ is not a room`, why: `The platform has the rooms ${PLATFORM_ROOMS.join(', ')}.`, instead }
  }
  if (!FEATURES.includes(feature)) {
    const why = 'A folder is a feature, so that its name tells a reader what the product does.'
    const instead = VAGUE.test(feature)
      ? 'Move each file to the feature it serves; what serves all of them belongs to src/platform/, named after what it does.'
      : 'If it is a feature, give it its place in FEATURES in scripts/house-rules.ts; if not, it belongs to a feature or to src/platform/.'
    return { path, what: `${feature}/ is not a feature`, why, instead }
  }
  if (room.includes('/')) {
    const instead = `Put the file into src/${feature}/${room.split('/')[0]}/ itself; if that room has become two concepts, split it.`
    return { path, what: 'a room within a room', why: 'A feature has rooms by concept, one level deep.', instead }
  }
  return undefined
}

/** Finds breaches of the rules for pages. Routers are checked everywhere, the other pages in features. */
function pages(source: SourceFacts): Finding[] {
  const { feature, file } = locationOf(source.path)
  const isPage = feature !== undefined && feature !== PLATFORM
  return PAGE_RULES.filter(({ isFor }) => isFor(file) && (isPage || isFor === isRouter)).flatMap(({ why, breaches }) =>
    breaches(source).map((breach) => ({ path: source.path, why, ...breach })),
  )
}

/** Finds imports of features by the platform, of later features and rooms by earlier ones, and of the files at the root by any. */
function direction({ path, imports }: SourceFacts): Finding[] {
  const from = locationOf(path)
  const order = `Imports run one way: ${PLATFORM} ← ${FEATURES.join(' ← ')}.`
  return imports.flatMap(({ to, line }): Finding[] => {
    if (!isOurs(to) || isRootFile(from)) return []
    const target = locationOf(to)
    if (isRootFile(target)) {
      const instead = 'Pass what you need from it as an argument, or move that part to src/platform/.'
      const why = `${target.file} puts the features together, so none of them can need it.`
      return [{ path, line, what: `imports ${to}`, why, instead }]
    }
    if (from.feature === PLATFORM && target.feature === PLATFORM) return upstairs(path, line, from.room, to, target.room)
    if (rank(target) <= rank(from)) return []
    if (from.feature === PLATFORM) {
      const instead = `Let ${target.feature} pass it in (an argument, a list in router.ts or background.ts), or move the shared part to src/platform/.`
      return [{ path, line, what: `the platform imports the feature ${target.feature}`, why: order, instead }]
    }
    const instead = 'Let the later feature call the earlier one; two that need each other show a third thing: find it.'
    return [{ path, line, what: `${from.feature} imports ${to}`, why: order, instead }]
  })
}

/** Finds an import of a room of the platform by one below it. */
function upstairs(path: string, line: number, from: string, to: string, room: string): Finding[] {
  // The ground floor, which is no room of the list, is -1.
  if (PLATFORM_ROOMS.indexOf(room) <= PLATFORM_ROOMS.indexOf(from)) return []
  const why = `Whoever reads a room knows what lies below it: the ground floor ← ${PLATFORM_ROOMS.join(' ← ')}.`
  const instead = `Take a function or a value as an argument, move what both need down (a noun to the ground floor), or move this file up to ${room}/.`
  return [{ path, line, what: `${from ? `${from}/` : 'the ground floor'} imports ${to}`, why, instead }]
}

/** Settings are below the platform, the platform is below the first feature. */
const rank = ({ feature }: Location) => (feature === undefined ? -2 : feature === PLATFORM ? -1 : FEATURES.indexOf(feature))

function writes({ path, calls, texts }: SourceFacts, tables: Map<string, string>): Finding[] {
  const { feature } = locationOf(path)
  const delegates = new Map([...tables].map(([table, delegate]) => [delegate, table]))
  const written = [
    ...calls.map(({ callee, line }) => ({ table: delegates.get(WRITES.exec(callee)?.[1] ?? ''), line })),
    ...texts.flatMap(({ text, line }) => [...text.matchAll(SQL_WRITES)].map(([, table = '']) => ({ table: table.toLowerCase(), line }))),
  ]
  return written.flatMap(({ table, line }): Finding[] => {
    const owner = table && ownerOf(table)
    if (!owner || owner === feature || path === `src/${owner}` || path.startsWith(`src/${owner}/`)) return []
    const why = `${owner} owns ${table}: its rules (tenant, versions, effects) hold only if every write goes through it.`
    return [
      { path, line, what: `writes ${table}`, why, instead: `Call a function of src/${owner}, or add one there that says what you mean.` },
    ]
  })
}

/** Only process.ts ends the process. */
function exits({ path, calls }: SourceFacts): Finding[] {
  return calls
    .filter(({ callee }) => path !== 'src/process.ts' && callee === 'process.exit')
    .map(({ line }) => ({
      path,
      line,
      what: 'ends the process',
      why: 'Only src/process.ts knows what has to be closed first.',
      instead: 'Throw, and let process.ts end in order.',
    }))
}

/** Finds features that ask where records are, and choose by themselves what to do then. */
const elsewhere = ({ path, calls }: SourceFacts): Finding[] =>
  calls
    .filter(({ callee }) => callee.endsWith('.isElsewhere') && !KNOWS_ELSEWHERE.some((known) => path.startsWith(known)))
    .map(({ line }) => ({
      path,
      line,
      what: 'asks where records are',
      why: 'What only a cluster needs is read, and deleted, as a whole (docs/decisions/0030-two-planes.md).',
      instead:
        'Take one way for both; or call a function of src/tables/elsewhere/, or of elsewhere.ts in the feature, that says what it does.',
    }))

/** Finds features that handle the bytes of rows. */
const bytes = ({ path, imports }: SourceFacts): Finding[] =>
  imports
    .filter(({ to }) => to === PRINTED_ROWS && !path.startsWith('src/platform/') && !KNOWS_BYTES.some((known) => path.startsWith(known)))
    .map(({ line }) => ({
      path,
      line,
      what: 'handles the bytes of rows',
      why: 'A feature knows tables, rights and rules, not how bytes travel.',
      instead: 'Declare the columns (http/answers/columns.ts): lists are written, and single rows are objects, by that declaration.',
    }))

/** An alias without a dot may be read as a field of the user's table, which PostgreSQL prefers. */
const aliases = (source: SourceFacts): Finding[] =>
  bareAliases(source).map(({ line, alias }) => ({
    path: source.path,
    line,
    what: `${alias} stands alone in SQL`,
    why: `If the table has a field with the id ${alias}, PostgreSQL reads the field instead.`,
    instead: `Put the alias before a dot: name the columns of a function (unnest(…) as u (option) → u.option), and write ${alias}.* for a row.`,
  }))
