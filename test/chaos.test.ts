/** Runs a short `npm run chaos`; the long one is for a quiet machine (docs/reliability.md). */
import { afterAll, expect, test, vi } from 'vitest'
import { programs } from './support/programs.ts'

// It takes a minute on a quiet machine.
vi.setConfig({ testTimeout: 600_000 })

const own = programs()
afterAll(() => own.cleanUp())

const chaos = (...args: string[]) => own.run('chaos/main', args)

test('nothing that was acknowledged is lost or doubled, and no process ends', async () => {
  const only = ['PostgreSQL killed', 'a worker killed', 'all connections ended', 'hangs up'].flatMap((name) => ['--only', name])
  // How soon writes work again depends on the machine, and is measured elsewhere.
  const { code, stdout, stderr } = await chaos('--rounds', '4', '--seconds', '2', '--processes', '1', '--within', '20000', ...only)
  expect({ code, stderr, stdout: code ? stdout : '' }).toEqual({ code: 0, stderr: '', stdout: '' })
  expect(stdout).toMatch(/^\| lost \| 0 \| 0 \|$/m)
  expect(stdout).toMatch(/^\| processes that ended by themselves \| 0 \| 0 \|$/m)
  expect(stdout).toMatch(/^\| PostgreSQL killed \| \d+ \| \d+ \| \d+ \|$/m)
})

test('an unknown fault is refused in one line, before anything is started', async () => {
  expect(await chaos('--only', 'earthquake')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^--only earthquake: is part of no fault; [^\n]+\n$/),
  })
})
