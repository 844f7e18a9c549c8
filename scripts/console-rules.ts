/** The law of the console's tree (CONTRIBUTING.md). What holds for `src/`, too, is in tree-rules.ts. */
import type { SourceFacts } from './source-facts.ts'
import { crowded, cycles, type Finding, size, vague, width } from './tree-rules.ts'

const ROOT = 'console/src/'
/** Imports run one way: each room may import those before it. */
const ROOMS = 'texts ui session cells grid views record tasks mail inbox manage app'.split(' ')

/** Returns all findings in the sources of the console. */
export function consoleFindings(sources: SourceFacts[]): Finding[] {
  return [
    ...sources.flatMap((source) => [...misplaced(source), ...vague(source.path), ...size(source), ...width(source), ...direction(source)]),
    ...crowded(sources),
    ...cycles(sources),
  ]
}

/** The room of a path below console/src/; undefined for main.tsx, which starts what `app` puts together. */
const roomOf = (path: string) => (path.startsWith(ROOT) ? /^([^/]+)\//.exec(path.slice(ROOT.length))?.[1] : undefined)

function misplaced({ path }: SourceFacts): Finding[] {
  const room = roomOf(path)
  if (room ? ROOMS.includes(room) : path === `${ROOT}main.tsx`) return []
  const why = 'A folder is a feature, so that its name tells a reader what a person can do there.'
  const instead = 'Move it to the feature it serves, or give a new one its place in ROOMS in scripts/console-rules.ts.'
  return [{ path, what: room ? `${room}/ is not a room of the console` : 'lies at the root', why, instead }]
}

function direction({ path, imports }: SourceFacts): Finding[] {
  const from = ROOMS.indexOf(roomOf(path) ?? 'app')
  return imports.flatMap(({ to, line }): Finding[] => {
    if (/^(src|generated|scripts|test)\//.test(to)) {
      const why = 'The console uses nothing but what every frontend has: the typed client.'
      return [{ path, line, what: `imports ${to}`, why, instead: 'Import gridpost-client, and add to the API what it lacks.' }]
    }
    const room = roomOf(to)
    if (room === undefined || ROOMS.indexOf(room) <= from) return []
    const why = `Imports run one way: ${ROOMS.join(' ← ')}.`
    const instead = 'Let the later room pass it in (a property, a context), or move what both need to an earlier one.'
    return [{ path, line, what: `${roomOf(path)} imports ${to}`, why, instead }]
  })
}
