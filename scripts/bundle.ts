/**
 * Makes the bundle (src/platform/bundle.ts) after each installation. Packages that are loaded on demand, that patch or are patched, or that bring
 * files of their own stay where they are.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { BUNDLE_DIR, type BundleManifest, digestOf } from '../src/platform/bundle.ts'

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
    if (id.includes('node_modules') || !id.startsWith(root)) return null
    sources.add(fromRoot(id))
    const place = JSON.stringify(unixPath(relative(BUNDLE_DIR, id)))
    const moved = code
      .replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`)
      .replaceAll(
        'import.meta.dirname',
        `process.getBuiltinModule('node:path').dirname(process.getBuiltinModule('node:url').fileURLToPath(new URL(${place}, import.meta.url)))`,
      )
    // Each line stays where it was, which is what a stack tells.
    return moved === code
      ? null
      : {
          code: moved,
          map: {
            version: 3,
            sources: [id],
            names: [],
            mappings: code
              .replace(/[^\n]+/g, '')
              .replace(/\n/g, ';AACA')
              .replace(/^/, 'AAAA'),
          },
        }
  },
}

rmSync(BUNDLE_DIR, { recursive: true, force: true })
mkdirSync(BUNDLE_DIR, { recursive: true })
const bundle = await rolldown({
  cwd: root,
  input: { process: 'src/process.ts', 'admin-program': 'scripts/admin-program.ts' },
  platform: 'node',
  external: STAYS,
  plugins: [places],
  logLevel: 'warn',
})
await bundle.write({
  dir: BUNDLE_DIR,
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  // Without the sources' texts: they are beside it.
  sourcemap: true,
  sourcemapExcludeSources: true,
  keepNames: true,
})
const files = [...sources].sort()
// Written last: a bundle without it is not used.
writeFileSync(join(BUNDLE_DIR, 'manifest.json'), JSON.stringify({ files, digest: digestOf(files) } satisfies BundleManifest))
