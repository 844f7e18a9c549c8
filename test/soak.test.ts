/** Runs `npm run soak` for a short time. The machine may be busy, so latencies are not judged. */
import { afterAll, expect, test, vi } from 'vitest'
import { programs } from './support/programs.ts'

// It takes a minute on a quiet machine.
vi.setConfig({ testTimeout: 600_000 })

const own = programs()
afterAll(() => own.cleanUp())

test('under overload health is answered, refusals have Retry-After, and the account that does not flood is served', async () => {
  const { code, stdout, stderr } = await own.run('soak/main', ['--minutes', '0.1', '--unmeasured'])
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  const phases = stdout.split('\n').filter((line) => /^\| [\w :%,]+ \| \d/.test(line))
  expect(phases.map((row) => row.split(' | ')[0])).toEqual([
    '| capacity: 32 callers',
    '| quiet: 25 %',
    '| quiet: 25 %, watched',
    '| other account alone: 5 %',
    '| steady: 80 %',
    '| steady: 80 %, watched',
    '| pauses: 80 %',
    '| pauses: 80 %, watched',
    '| overload: 200 %',
    '| overload: 200 %, watched',
    '| one account: 200 %',
    '| one account: 200 %, watched',
    '| other account beside it: 5 %',
    '| rush: 600 new connections',
  ])
})

test('an invalid option is refused in one line, before anything is started', async () => {
  const stderr = '--minutes x: must be a number above 0, 600 or less\n'
  expect(await own.run('soak/main', ['--minutes', 'x'])).toEqual({ code: 1, stdout: '', stderr })
})
