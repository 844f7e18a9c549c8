import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Environment } from '../../src/settings.ts'

describe('docs/operations.md', () => {
  const text = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [, section = ''] = /## Settings\n([\s\S]*?)\n## /.exec(text) ?? []
  const documented = Object.fromEntries(
    [...section.matchAll(/^\| `(\w+)` \| (.+?) \| .+ \|$/gm)].map(([, name, byDefault]) => [name, byDefault]),
  )

  test('lists every setting with its default, and no other', () => {
    const shape: Record<string, { parse(value: unknown): unknown }> = Environment.shape
    const actual = Object.entries(shape).map(([name, schema]) => {
      const byDefault = String(schema.parse(undefined) ?? '')
      return [name, byDefault ? `\`${byDefault}\`` : '–']
    })
    expect(documented).toEqual(Object.fromEntries(actual))
  })
})
