/** Which packages only some of the direct dependencies need, in lock files of npm. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { neededOnlyBy } from '../../scripts/lock-packages.ts'

test('a package that something else needs, too, is kept at the place where that finds it', () => {
  const packages = {
    '': { dependencies: { build: '1', service: '1' }, optionalDependencies: { native: '1' } },
    'node_modules/build': { dependencies: { shared: '1', tool: '1' }, optionalDependencies: { 'not-installed': '1' } },
    'node_modules/build/node_modules/shared': { dependencies: { deep: '1' } },
    'node_modules/deep': {},
    'node_modules/native': {},
    'node_modules/peer': {},
    'node_modules/service': { dependencies: { shared: '2' } },
    'node_modules/shared': { peerDependencies: { peer: '1' } },
    'node_modules/tool': { dependencies: { native: '1', peer: '1' } },
  }
  expect(neededOnlyBy(['build'], packages)).toEqual([
    'node_modules/build',
    'node_modules/build/node_modules/shared',
    'node_modules/deep',
    'node_modules/tool',
  ])
})

test('an optional peer keeps no package, and a cycle ends', () => {
  const packages = {
    '': { dependencies: { build: '1', service: '1' } },
    'node_modules/build': { dependencies: { tool: '1' } },
    'node_modules/service': { peerDependencies: { tool: '1' }, peerDependenciesMeta: { tool: { optional: true } } },
    'node_modules/tool': { dependencies: { build: '1' } },
  }
  expect(neededOnlyBy(['build'], packages)).toEqual(['node_modules/build', 'node_modules/tool'])
  expect(neededOnlyBy([], packages)).toEqual([])
})

test('production keeps every package that its sources import', () => {
  const named = /const OF_CONSOLE = \[([^\]]+)\]/.exec(readFileSync('scripts/build-console.ts', 'utf8'))?.[1] ?? ''
  const names = [...named.matchAll(/'([^']+)'/g)].map(([, name = '']) => name)
  expect(names).toContain('vite')
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const removed = neededOnlyBy(names, packages).map((folder) => folder.replace('node_modules/', ''))
  const imported = globSync(['src/**/*.ts', 'generated/**/*.{ts,js}', 'scripts/{admin,demo,migrate,seed}*.ts', 'scripts/doctor/*.ts'])
    .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/(?:from|import\()\s*'([^.'][^']*)'/g)])
    .map(([, module = '']) => module)
  expect(imported.filter((module) => removed.some((name) => module === name || module.startsWith(`${name}/`)))).toEqual([])
})
