/** A production installation: the files that run, with the packages of `npm ci --omit=dev`. The gate makes a real one (.ci/run). */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** As in deploy/Containerfile. */
const FILES = ['package.json', 'openapi.json', 'console/dist', 'console/src/ui/tokens.css', 'docs', 'prisma', 'generated', 'scripts', 'src']
/** A peer of other packages, for compilers, which deploy/Containerfile removes. */
const REMOVED = 'node_modules/typescript'

/** Returns its folder. The packages are links to those of this checkout. */
export function installForProduction(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gridpost-production-'))
  for (const file of FILES) cpSync(join(root, file), join(folder, file), { recursive: true })
  for (const path of [...packagesOfProduction(), 'node_modules/.bin/node']) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(root, path), join(folder, path))
  }
  return folder
}

function packagesOfProduction(): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  const isTopLevel = (path: string) => path.startsWith('node_modules/') && path.lastIndexOf('node_modules/') === 0
  const installed = Object.entries(packages).filter(([path, { dev, link }]) => isTopLevel(path) && !dev && !link && path !== REMOVED)
  // Of optional packages, npm installs those of this platform.
  return installed.map(([path]) => path).filter((path) => existsSync(join(root, path)))
}

interface Locked {
  dev?: true
  link?: true
}
