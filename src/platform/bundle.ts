/**
 * The bundle: the modules of the service and of its packages joined into few files, as `npm ci` leaves them (scripts/bundle.ts). A start then takes
 * half the CPU time, which would go into finding and linking a thousand files, and a sixth less memory.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload, type SourceMapping } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')
/** Where the bundle is. Its modules find files of the repository by their distance from this folder. */
export const BUNDLE_DIR = join(ROOT, 'node_modules/.cache/bundle')

/** What a bundle was made from. */
export interface BundleManifest {
  /** The sources of ours and the lock file, by their paths from the root. */
  readonly files: readonly string[]
  /** The digest of their contents. */
  readonly digest: string
}

/** @param files paths from the root @returns a digest of the files' names and contents @throws ENOENT */
export function digestOf(files: readonly string[]): string {
  const hash = createHash('sha1')
  for (const file of files) {
    const content = readFileSync(join(ROOT, file))
    hash.update(`${file} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/**
 * The module to import for a program.
 * @param program the name of its entry in the bundle
 * @param source the URL of its source
 * @returns the URL in the bundle if that was made from the sources as they are now, else the source's: a source that was edited is what runs, and so
 *   are the sources if RUN_SOURCES is set
 */
export function moduleOf(program: string, source: URL): string {
  if (process.env.RUN_SOURCES) return source.href
  try {
    const { files, digest } = JSON.parse(readFileSync(join(BUNDLE_DIR, 'manifest.json'), 'utf8')) as BundleManifest
    if (digestOf(files) === digest) return pathToFileURL(join(BUNDLE_DIR, `${program}.mjs`)).href
  } catch (error) {
    // There is no bundle, or one of its sources is gone.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return source.href
}

const BUNDLE_URL = `${pathToFileURL(BUNDLE_DIR).href}/`
const PLACE = /file:[^\s()]*\/([^\s()/]+\.mjs):(\d+):(\d+)/g
/** Kept, because reading one takes some 50 ms; a process without errors has none. */
const maps = new Map<string, SourceMap>()

/** @returns the stack of an error with the places in the bundle as places in the sources, which are what a reader can open */
export function stackInSources(stack: string): string {
  return stack.replace(PLACE, (place: string, file: string, line: string, column: string) => {
    const map = place.startsWith(BUNDLE_URL) ? mapOf(file) : undefined
    const {
      originalSource,
      originalLine = 0,
      originalColumn = 0,
    }: Partial<SourceMapping> = map?.findEntry(Number(line) - 1, Number(column) - 1) ?? {}
    return originalSource === undefined ? place : `${new URL(originalSource, BUNDLE_URL).href}:${originalLine + 1}:${originalColumn + 1}`
  })
}

function mapOf(file: string): SourceMap | undefined {
  const known = maps.get(file)
  if (known) return known
  try {
    const map = new SourceMap(JSON.parse(readFileSync(join(BUNDLE_DIR, `${file}.map`), 'utf8')) as SourceMapPayload)
    maps.set(file, map)
    return map
  } catch {
    // The error that is being logged matters more than a map that is gone, for instance during an installation.
    return undefined
  }
}
