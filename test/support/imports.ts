/** What processes of the service import. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serviceProcess } from '../../scripts/chaos/service-process.ts'
import { testDatabase } from './database.ts'

/** Prints each import of a package. prom-client has OpenTelemetry's API among its own imports, which does nothing. */
const watch = `import { registerHooks } from 'node:module'
  registerHooks({ resolve: (specifier, context, next) => {
    if (!/^(node:|file:|data:|[./#])/.test(specifier) && !context.parentURL?.includes('/prom-client/')) console.log('imported ' + specifier)
    return next(specifier, context)
  } })`

/** Starts a service, sends it a request and ends it again. @returns the packages that were imported, also by other packages, each once */
export async function importsOfService(variables: Record<string, string>): Promise<string[]> {
  const logDir = await mkdtemp(join(tmpdir(), 'gridpost-imports-'))
  const service = await serviceProcess({
    name: 'service',
    role: 'all',
    logDir,
    environment: {
      DATABASE_URL: (await testDatabase()).url,
      DATA_DIR: logDir,
      SECRET_KEY: 'a key for tests, long enough to be one',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watch)}`,
      ...variables,
    },
  })
  await service.start()
  const { status } = await fetch(`${service.url}/readyz`)
  await service.stop()
  const output = await readFile(join(logDir, 'service.log'), 'utf8')
  await rm(logDir, { recursive: true })
  if (status !== 200 || !output.includes('Gridpost listens on')) throw new Error(`The service does not start: ${status}\n${output}`)
  return importsIn(output)
}

/** Starts the program of a work process without work, which ends by itself. @returns the packages that were imported, each once */
export async function importsOf(program: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [`--import=data:text/javascript,${encodeURIComponent(watch)}`, program])
  return importsIn(stdout)
}

const importsIn = (output: string) => [...new Set([...output.matchAll(/^imported (.*)$/gm)].map(([, name = '']) => name))]
