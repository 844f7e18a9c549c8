/** The files of the built console (`console/dist/`), which each installation makes (scripts/build-console.ts). */
import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const CONSOLE_FOLDER = fileURLToPath(new URL('../../console/dist/', import.meta.url))
/** The page, which is shown at every address of the console. */
export const PAGE = 'index.html'

type Encoding = 'identity' | 'br' | 'gzip'

export interface BuiltFile {
  type: string
  /** The bytes by their content coding. A file that does not shrink has only the first. */
  bytes: Partial<Record<Encoding, Buffer>> & { identity: Buffer }
  /** A strong tag of the uncompressed bytes, without quotes. */
  tag: string
}

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}
const COMPRESSED = { br: '.br', gzip: '.gz' } as const

/**
 * Reads all of them at once, so that the page and its files are of one build even if another takes their place.
 * @returns the files by name @throws Error (ENOENT) if the console was not built
 */
export async function readBuiltFiles(folder: string): Promise<ReadonlyMap<string, BuiltFile>> {
  const names = await readdir(folder)
  const contents = new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
  const page = contents.get(PAGE)
  if (!page) throw Object.assign(new Error(`${folder} has no ${PAGE}`), { code: 'ENOENT' })
  const files = new Map<string, BuiltFile>()
  for (const [name, identity] of contents) {
    const type = TYPES[extname(name)]
    if (!type) continue
    const br = contents.get(name + COMPRESSED.br)
    const gzip = contents.get(name + COMPRESSED.gzip)
    files.set(name, {
      type,
      bytes: { identity, ...(br && { br }), ...(gzip && { gzip }) },
      tag: hash('sha256', identity, 'base64url').slice(0, 27),
    })
  }
  return files
}
