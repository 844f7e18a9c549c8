/** V8 compiles what is called often, and is done with it after a while, in each of several processes. */
import { afterAll, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { endAll, startProcesses } from './support/processes.ts'

const REQUESTS = 6_000
/** A result is discarded if the program changes while it is compiled, as it does at first. */
const MOST_DISCARDED = 40

const app = await testApp()
const reportCompilations = `import { setFlagsFromString } from 'node:v8'; setFlagsFromString('--trace-opt')`
const service = await startProcesses({
  ...{ DATABASE_URL: app.settings.databaseUrl ?? '', DATA_DIR: app.settings.dataDir, SECRET_KEY: 'a key for tests, long enough to be one' },
  RATE_LIMIT_PER_MINUTE: '0',
  NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(reportCompilations)}"`,
})
afterAll(endAll)

test('compiles nothing again and again, because its result would be discarded', async () => {
  const both = await service.both()
  for (let request = 0; request < REQUESTS; request++) await both[request % 2]?.send('GET', '/api/spaces/list')
  const compiled = service.output().match(/completed compiling .*/g) ?? []
  const discarded = service.output().match(/aborted compiling .*/g) ?? []
  expect(discarded.length, discarded.slice(-5).join('\n')).toBeLessThan(MOST_DISCARDED)
  // The class that Node makes for each value of AsyncLocalStorage.
  expect(compiled.some((line) => line.includes('AsyncContextFrame'))).toBe(true)
})
