import { expect, test } from 'vitest'
import { testApp } from './support/app.ts'

const app = await testApp()

/**
 * Postgres cannot parse a statement on the missing schema t999999999; the next use of its name on the shared connection must still work.
 */
test('answers 404 to many concurrent requests for a record of a table that does not exist', async () => {
  const { keys } = await app.account()
  const as = app.as(keys.account)
  const missing = '/api/table/999999999/record/1/get'
  for (let round = 0; round < 4; round++) expect((await as.get(missing)).status).toBe(404)
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => as.get(missing)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.message}`))).toEqual(new Set(['404 Table not found']))
  }
})

test('answers 400 to many concurrent requests for the context of no record', async () => {
  const { keys } = await app.account()
  const as = app.as(keys.account)
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => as.post('/api/email/recordContext', {})))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.message}`))).toEqual(new Set(['400 tableId: is required']))
  }
})
