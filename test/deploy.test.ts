/** The samples in deploy/ fit the service: its settings, its metrics, its start, and the tools that read them. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { Environment } from '../src/settings.ts'
import { testApp } from './support/app.ts'
import { programAt } from './support/installed.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const scratch = mkdtempSync(join(tmpdir(), 'gridpost-deploy-'))
afterAll(() => rmSync(scratch, { recursive: true }))

/** Runs a tool, which must end well. */
function run(program: string, args: string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, ...env } })
  expect(status, stdout + stderr).toBe(0)
  return stdout
}

/** The words after `exec` of `npm start`. */
const start = read('scripts/start.sh')
const startCommand = /^exec (.*)$/m.exec(start)?.[1]?.split(' ')
const trimThreshold = `MALLOC_TRIM_THRESHOLD_=${/-(\d+)}/.exec(start)?.[1]}`
const settings = Object.keys(Environment.shape)
/** Variables of Node and of the C library. */
const OF_NODE = ['NODE_ENV', 'NODE_COMPILE_CACHE', 'MALLOC_TRIM_THRESHOLD_']
const unknownSettings = (names: string[]) => names.filter((name) => !settings.includes(name) && !OF_NODE.includes(name))

describe('deploy/prometheus and deploy/grafana', () => {
  const rules = parse(read('deploy/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }
  const dashboard = JSON.parse(read('deploy/grafana/gridpost.json')) as { panels: Panel[] }
  interface Rule {
    alert: string
    expr: string
    for?: string
    labels?: { severity?: string }
    annotations?: { summary?: string; description?: string }
  }
  interface Panel {
    id: number
    type: string
    title: string
    targets?: { expr: string }[]
  }
  const alerts = rules.groups.flatMap((group) => group.rules)
  const panels = dashboard.panels.filter(({ type }) => type !== 'row')

  test('name only metrics that the service has, and each of its own', async () => {
    const app = await testApp({ METRICS_TOKEN: 'token' })
    const text = (await app.as('token').get('/metrics')).body as string
    const known = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
      ),
    )
    const expressions = [...alerts.map(({ expr }) => expr), ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))]
    const named = new Set(expressions.flatMap((expr) => expr.match(/\b(?:gridpost|nodejs|process)_\w+/g) ?? []))
    expect([...named].filter((name) => !known.has(name))).toEqual([])
    const families = [...text.matchAll(/^# TYPE (gridpost_\S+) /gm)].map(([, name = '']) => name)
    expect(families.filter((family) => ![...named].some((name) => name.startsWith(family)))).toEqual([])
    const documented = new Set(read('docs/monitoring.md').match(/\bgridpost_\w+/g))
    expect(families.filter((family) => !documented.has(family))).toEqual([])
  })

  test('say of each alert how urgent it is, for how long, and what to do', () => {
    for (const alert of alerts) {
      expect(alert, alert.alert).toMatchObject({
        alert: expect.stringMatching(/^Gridpost[A-Z]/),
        for: expect.stringMatching(/^\d+[mh]$/),
        labels: { severity: expect.stringMatching(/^(warning|critical)$/) },
        annotations: { summary: expect.stringMatching(/./), description: expect.stringMatching(/\.$/) },
      })
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  })

  test('have panels with titles, queries and ids of their own', () => {
    for (const { title, targets } of panels)
      expect([title, targets?.length], title).toEqual([expect.stringMatching(/./), expect.any(Number)])
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })

  const promtool = programAt('promtool')
  test.skipIf(!promtool)('are accepted by promtool, and the alerts fire when they should', () => {
    run(promtool ?? '', ['check', 'rules', join(root, 'deploy/prometheus/alerts.yml')])
    run(promtool ?? '', ['check', 'config', '--syntax-only', join(root, 'deploy/prometheus/prometheus.yml')])
    run(promtool ?? '', ['test', 'rules', join(root, 'deploy/prometheus/alerts.test.yml')])
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')))
    const asRules = queries.map((expr, index) => ({ record: `panel:${index}`, expr }))
    // JSON is YAML, too.
    writeFileSync(join(scratch, 'panels.yml'), JSON.stringify({ groups: [{ name: 'panels', rules: asRules }] }))
    run(promtool ?? '', ['check', 'rules', join(scratch, 'panels.yml')])
  })
})

describe('deploy/systemd', () => {
  const units = readdirSync(join(root, 'deploy/systemd')).filter((name) => /\.(service|timer)$/.test(name))
  const processes = units.filter((name) => /^gridpost-(web|worker)@/.test(name))

  test.each(processes)('%s starts as npm start does, with settings that exist', (name) => {
    const unit = read(`deploy/systemd/${name}`)
    expect(/^ExecStart=\/opt\/gridpost\/node_modules\/\.bin\/(.*)$/m.exec(unit)?.[1]?.split(' ')).toEqual(startCommand)
    const set = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' ').map((one) => one.split('=')[0] ?? ''))
    expect(set).toContain('METRICS_PORT')
    expect(unknownSettings(set)).toEqual([])
    expect(unit).toContain(` ${trimThreshold}\n`)
  })

  test('the backup runs the script that is there, with settings that exist beside its own', () => {
    const unit = read('deploy/systemd/gridpost-backup.service')
    const [, script = ''] = /^ExecStart=\/opt\/gridpost\/(\S+) /m.exec(unit) ?? []
    expect(statSync(join(root, script)).mode & 0o111).toBe(0o111)
    const set = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' ').map((one) => one.split('=')[0] ?? ''))
    expect(unknownSettings(set)).toEqual(['KEEP'])
    expect(read(script)).toContain('KEEP')
  })

  test('the file of settings has settings that exist', () => {
    const lines = read('deploy/systemd/gridpost.env')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'))
    const names = lines.map((line) => line.split('=')[0] ?? '')
    expect(names).toEqual(expect.arrayContaining(['DATABASE_URL', 'SECRET_KEY']))
    expect(unknownSettings(names)).toEqual([])
  })

  const analyze = programAt('systemd-analyze')
  test.skipIf(!analyze)('the units are accepted by systemd-analyze verify', () => {
    // It looks whether the program and the document exist.
    for (const name of units)
      writeFileSync(
        join(scratch, name.replace('@', '@3001')),
        read(`deploy/systemd/${name}`).replaceAll('/opt/gridpost', root.replace(/\/$/, '')),
      )
    const { stdout, stderr } = spawnSync(
      analyze ?? '',
      ['verify', '--man=no', ...units.map((name) => join(scratch, name.replace('@', '@3001')))],
      {
        encoding: 'utf8',
        env: { ...process.env, SYSTEMD_UNIT_PATH: `${scratch}:` },
      },
    )
    const ours = (stdout + stderr).split('\n').filter((line) => line.includes('gridpost'))
    expect(ours).toEqual([])
  })
})

describe('deploy/Containerfile', () => {
  const steps = read('deploy/Containerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line))
    .map((line) => ({ instruction: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }))
  const argumentsOf = (instruction: string) => steps.filter((step) => step.instruction === instruction).map(({ rest }) => rest)

  test('copies what exists, is not ignored, and is enough to run', () => {
    const copied = argumentsOf('COPY')
      .filter((rest) => !rest.startsWith('--from'))
      .flatMap((rest) => rest.split(' ').slice(0, -1))
    expect(copied).toEqual(
      expect.arrayContaining(['src', 'prisma', 'generated', 'scripts', 'package.json', 'package-lock.json', '.npmrc', 'openapi.json']),
    )
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
    const admitted = read('deploy/Containerfile.dockerignore').split('\n').filter(Boolean)
    const outermost = copied.filter((path) => !copied.some((other) => path.startsWith(`${other}/`)))
    // The image builds the console anew.
    expect(new Set(admitted)).toEqual(new Set(['*', ...outermost.map((path) => `!${path}`), 'console/dist']))
  })

  test('has the Node of package.json, as .nvmrc has', () => {
    const [major] = (JSON.parse(read('package.json')).dependencies.node as string).split('.')
    expect(read('.nvmrc')).toBe(`${major}\n`)
    for (const image of argumentsOf('FROM')) expect(image).toMatch(new RegExp(`^node:${major}-`))
  })

  test('runs the command of npm start, not as root, with settings that exist', () => {
    expect(JSON.parse(argumentsOf('CMD')[0] ?? '')).toEqual(startCommand)
    expect(argumentsOf('ENV').join(' ').split(' ')).toContain(trimThreshold)
    expect(argumentsOf('USER')).toEqual(['node'])
    const set = argumentsOf('ENV').flatMap((rest) => rest.split(' ').map((one) => one.split('=')[0] ?? ''))
    expect(unknownSettings(set)).toEqual([])
  })
})

describe('deploy/compose.yaml', () => {
  const environment = { POSTGRES_PASSWORD: 'abc123', SECRET_KEY: 'a key for tests, long enough to be one', DOMAIN: 'gridpost.example.com' }
  interface Compose {
    services: Record<string, { environment?: Record<string, string>; depends_on?: object; volumes?: string[]; healthcheck?: object }>
    volumes: Record<string, null>
  }
  const compose = parse(read('deploy/compose.yaml'), { merge: true }) as Compose

  const webs = ['web-1', 'web-2']

  test('runs web and worker processes with settings that exist, on volumes that exist', () => {
    expect(Object.keys(compose.services)).toEqual([...webs, 'worker', 'database', 'proxy'])
    for (const name of [...webs, 'worker']) {
      const service = compose.services[name]
      expect(service).toMatchObject({
        environment: { ROLE: webs.includes(name) ? 'web' : 'worker' },
        depends_on: { database: { condition: 'service_healthy' } },
      })
      expect(unknownSettings(Object.keys(service?.environment ?? {}))).toEqual([])
    }
    expect(compose.services.database?.healthcheck).toBeDefined()
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0] ?? ''))
    expect(mounted.filter((volume) => !volume.startsWith('./') && !(volume in compose.volumes))).toEqual([])
    expect(mounted.filter((volume) => volume.startsWith('./') && !existsSync(join(root, 'deploy', volume)))).toEqual([])
  })

  test('names every process for requests to the proxy, which could not tell them apart behind one name', () => {
    expect(compose.services.proxy?.environment?.GRIDPOST).toBe(webs.map((web) => `${web}:3000`).join(' '))
  })

  const docker = programAt('docker')
  const hasCompose = docker !== undefined && spawnSync(docker, ['compose', 'version']).status === 0
  test.skipIf(!hasCompose)('is accepted by docker compose', () => {
    run(docker ?? '', ['compose', '--file', join(root, 'deploy/compose.yaml'), 'config', '--quiet'], environment)
  })
})
