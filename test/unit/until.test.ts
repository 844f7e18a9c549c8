import { expect, test } from 'vitest'
import { until } from '../support/until.ts'

test('what is waited for is returned as soon as it is there', async () => {
  const answers = [undefined, 0, '', 'here']
  expect(await until(() => answers.shift(), 'for it', { everyMs: 1 })).toBe('here')
})

test('what does not come true in time is named', async () => {
  let asked = 0
  const more = () => ++asked > 1_000
  const waiting = until(more, () => `for more than ${asked} answers`, { withinMs: 20, everyMs: 1 })
  await expect(waiting).rejects.toThrow(/^Waited 0\.02 s in vain for more than \d+ answers$/)
  expect(asked).toBeGreaterThan(1)
})

test('an error ends the wait at once', async () => {
  const refused = () => Promise.reject(new Error('refused'))
  await expect(until(refused, 'for it')).rejects.toThrow('refused')
})
