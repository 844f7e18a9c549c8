/**
 * Makes the bundle (src/platform/bundle.ts) after each installation. Packages that are loaded on demand, that patch or are patched, or that bring
 * files of their own stay where they are.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { isAbsolute, join, relative, sep } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { BUNDLE_DIR, type BundleManifest, digestOf, NO_ORIGIN } from '../src/platform/bundle.ts'

const root = join(import.meta.dirname, '..')
const unixPath = (path: string) => path.split(sep).join('/')
const fromRoot = (path: string) => unixPath(relative(root, path))

/** Packages that are opened by require() or import() when a service first uses them or, as pg, are shared with such a package. */
const STAYS =
  /^(node:|@aws-sdk\/|@opentelemetry\/(?!api$)|@prisma\/|(mailauth|nodemailer|pg|pg-protocol|sanitize-html|sharp|smtp-server|trpc-to-openapi)($|\/))/

const sources = new Set<string>(['package-lock.json', 'scripts/bundle.ts'])

/** Lets a module that finds files beside itself find them from the bundle. */
const places: Plugin = {
  name: 'places of the sources',
  transform(code, id) {
    const path = fromRoot(id)
    // Packages, and modules of rolldown's own, which are no files.
    if (!isAbsolute(id) || isAbsolute(path) || /^(node_modules|\.\.)\//.test(path)) return null
    sources.add(path)
    const moved = moveTo(BUNDLE_DIR, id, code)
    return moved === code ? null : { code: moved, map: { version: 3, sources: [id], names: [], mappings: lineByLine(code) } }
  },
}

/** Makes the module find its own place when its code runs in another folder. @throws Error for a use of import.meta that this does not know */
function moveTo(folder: string, id: string, code: string): string {
  const unknown = /import\.meta\.(?!url\b|dirname\b)\w+/.exec(code)
  if (unknown) throw new Error(`${fromRoot(id)}: the bundle does not know ${unknown[0]}; use import.meta.url`)
  const url = `new URL(${JSON.stringify(unixPath(relative(folder, id)))}, import.meta.url)`
  const path = `process.getBuiltinModule('node:url').fileURLToPath(${url})`
  return code
    .replaceAll('import.meta.url', `${url}.href`)
    .replaceAll('import.meta.dirname', `process.getBuiltinModule('node:path').dirname(${path})`)
}

/** The source map of a text whose lines are changed, but stay where they are. */
const lineByLine = (code: string) => `AAAA${';AACA'.repeat(code.split('\n').length - 1)}`

/** The numbers of the sources that chunks come from, our own and those of packages. */
const numbers = new Map<string, number>()

/** For each line of a chunk two numbers: of its source, and of the line there. */
function originsOf(code: string, map: SourceMapPayload): Uint32Array {
  const mapped = new SourceMap(map)
  const originOf = (line: string, index: number): [number, number] => {
    const entry = mapped.findEntry(index, line.search(/\S|$/))
    if (!('originalSource' in entry)) return [NO_ORIGIN, 0]
    const source = fromRoot(join(BUNDLE_DIR, entry.originalSource))
    if (!numbers.has(source)) numbers.set(source, numbers.size)
    return [numbers.get(source) ?? NO_ORIGIN, entry.originalLine + 1]
  }
  return Uint32Array.from(code.split('\n').flatMap(originOf))
}

const bundle = await rolldown({
  cwd: root,
  input: { process: 'src/process.ts', 'admin-program': 'scripts/admin-program.ts' },
  platform: 'node',
  external: STAYS,
  plugins: [places],
  logLevel: 'warn',
})
const { output } = await bundle.generate({
  dir: BUNDLE_DIR,
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  sourcemap: 'hidden',
  keepNames: true,
})
rmSync(BUNDLE_DIR, { recursive: true, force: true })
mkdirSync(BUNDLE_DIR, { recursive: true })
for (const file of output) {
  // The maps are files as well; of those only the lines are kept.
  if (file.type !== 'chunk') continue
  writeFileSync(join(BUNDLE_DIR, file.fileName), file.code)
  if (file.map) writeFileSync(join(BUNDLE_DIR, `${file.fileName}.lines`), originsOf(file.code, { ...file.map, sourceRoot: '' }))
}
const files = [...sources].sort()
// Written last: a bundle without it is not used.
writeFileSync(
  join(BUNDLE_DIR, 'manifest.json'),
  JSON.stringify({ files, digest: digestOf(files), origins: [...numbers.keys()] } satisfies BundleManifest),
)
