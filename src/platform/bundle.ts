/**
 * The bundle: the modules of the service and of its packages joined into few files, as `npm ci` leaves them (scripts/bundle.ts). A start then takes
 * half the CPU time, which would go into finding and linking a thousand files, and a sixth less memory.
 */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')
/** Where the bundle is. Its modules find files of the repository by their distance from this folder. */
export const BUNDLE_DIR = join(ROOT, 'node_modules/.cache/bundle')

/** What a bundle was made from. */
export interface BundleManifest {
  /** The paths of our own sources and of the lock file, from the root. */
  readonly files: readonly string[]
  /** The digest of their contents. */
  readonly digest: string
  /** The sources of all lines, including those of packages. A file of lines names a source by its index here. */
  readonly origins: readonly string[]
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
 * @returns the URL in the bundle if the bundle was made from the present sources, otherwise the URL of the source: an edited source must take
 *   effect. With RUN_SOURCES the source is always used.
 */
export function moduleOf(program: string, source: URL): string {
  if (process.env.RUN_SOURCES) return source.href
  try {
    const { files, digest } = readManifest()
    if (digestOf(files) === digest) return pathToFileURL(join(BUNDLE_DIR, `${program}.mjs`)).href
  } catch (error) {
    // There is no bundle, or one of its sources is gone.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return source.href
}

const readManifest = () => JSON.parse(readFileSync(join(BUNDLE_DIR, 'manifest.json'), 'utf8')) as BundleManifest

const BUNDLE_URL = `${pathToFileURL(BUNDLE_DIR).href}/`
const PLACE = /file:[^\s()]*\/([^\s()/]+\.mjs):(\d+):\d+/g
/** The index of the source for a line that comes from no source. */
export const NO_ORIGIN = 0xff_ff_ff_ff
/** For each line of a chunk, its file of lines has the index of the source and the line number in it. */
const ORIGIN_BYTES = 8

/**
 * Replaces places in the bundle by places in the sources, which a reader of the stack can open. The maps of the bundle are not kept in
 * memory: a place costs two small reads, because a process that logs an error may be short of memory or time.
 */
export function stackInSources(stack: string): string {
  if (!stack.includes(BUNDLE_URL)) return stack
  try {
    const { origins } = readManifest()
    return stack.replace(PLACE, (place: string, chunk: string, line: string) => {
      const [source = NO_ORIGIN, lineThere] = place.startsWith(BUNDLE_URL) ? originOf(chunk, Number(line)) : []
      return origins[source] === undefined ? place : `${pathToFileURL(join(ROOT, origins[source])).href}:${lineThere}`
    })
  } catch {
    // The stack is logged unchanged, because the error matters more than its places. During an installation, for instance, there are no maps.
    return stack
  }
}

function originOf(chunk: string, line: number): Uint32Array {
  const origin = new Uint32Array(ORIGIN_BYTES / Uint32Array.BYTES_PER_ELEMENT)
  const file = openSync(join(BUNDLE_DIR, `${chunk}.lines`), 'r')
  try {
    const read = readSync(file, origin, 0, ORIGIN_BYTES, (line - 1) * ORIGIN_BYTES)
    return read === ORIGIN_BYTES ? origin : new Uint32Array()
  } finally {
    closeSync(file)
  }
}
