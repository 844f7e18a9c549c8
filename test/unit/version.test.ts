import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { apiDocument } from '../../src/router.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }

test('the release has one version: in the lock file, the client, the API document and the newest section of the changelog, with a text for its tag', async () => {
  const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: Record<string, { version: string }> }
  const client = JSON.parse(read('generated/client/package.json')) as { version: string }
  const versions = [lock.version, lock.packages['']?.version, lock.packages['generated/client']?.version, client.version]
  expect(new Set(versions)).toEqual(new Set([version]))
  expect(await apiDocument()).toMatchObject({ info: { version } })
  const [, newest, text = ''] = /^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d\n\n([^\n#-][\s\S]*?)\n\n/m.exec(read('CHANGELOG.md')) ?? []
  expect(newest).toBe(version)
  expect(text.split(/\s+/).length).toBeGreaterThan(20)
})
