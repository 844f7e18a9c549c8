/** Runs `npm run bench` on a small data set. */
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { prepareData } from './support/prepared-data.ts'
import { programs } from './support/programs.ts'

// It takes a minute on a quiet machine.
vi.setConfig({ testTimeout: 600_000 })

const own = programs()
afterAll(() => own.cleanUp())

const bench = (...args: string[]) => own.run('bench/main', args)

test('a table too small for indexes is created, and the selected cases are measured', async () => {
  prepareData(own.dataDir)
  const kept = ['--suite', 'records', '--data-dir', own.dataDir]
  const made = await bench(...kept, '--records', '1000', '--prepare')
  expect({ ...made, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(made.stdout).toMatch(/^The data were made in \d+ s\.\n$/)

  const few = ['--rounds', '1', '--seconds', '1', '--connections', '2']
  const { code, stdout, stderr } = await bench(...kept, ...few, '--only', 'open and due, newest due first', '--only', 'by cursor')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const rows = stdout.split('\n').filter((line) => line.startsWith('| '))
  expect(rows.map((row) => row.split(' | ').slice(0, 1))).toEqual([
    ['| one caller'],
    ['| open and due, newest due first'],
    ['| page 100 by cursor'],
    ['| case'],
    ['| open and due, newest due first'],
    ['| page 100 by cursor'],
  ])
  expect(rows.at(-1)).toMatch(/^\| page 100 by cursor \| 2 \| \d+ \| \d+ \| \d+\.\d\d \| 1\.4(, missed)? \|/)

  const refused = await bench(...kept, '--records', '2000')
  expect(refused).toEqual({ code: 1, stdout: '', stderr: `--records 2000: the data in ${own.dataDir} were made with 1000\n` })
})

test('an invalid option is refused in one line, before anything is started', async () => {
  const stderr = `--data-dir ${join(import.meta.dirname, 'bench.test.ts')}: must be a folder\n`
  expect(await bench('--data-dir', import.meta.filename)).toEqual({ code: 1, stdout: '', stderr })
})
