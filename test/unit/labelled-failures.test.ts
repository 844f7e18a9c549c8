/** Reads labelled failure messages in the forms of many mail systems and languages, and takes no ordinary message for one. */
import { describe, expect, test } from 'vitest'
import { MAIL, saidOfAnn, TO_ANN } from '../support/failure-reports.ts'
import { labelledMessages } from '../support/labelled-messages.ts'

describe.each(['failures.txt', 'failures-in-languages.txt'])('each message of %s says what it is labelled with', (file) => {
  test.each(labelledMessages(file))('%s', async (_, raw, label) => {
    expect(await saidOfAnn(raw)).toBe(label)
  })
})

test.each(labelledMessages('no-failures.txt'))('%s is no failure', async (_, raw, label) => {
  expect(await saidOfAnn(raw, MAIL)).toMatch(new RegExp(`^${label} `))
  expect(await saidOfAnn(raw, TO_ANN)).toMatch(new RegExp(`^${label} `))
})

test.each(labelledMessages('ordinary-messages.txt'))('%s is not taken for a failure', async (_, raw) => {
  expect(await saidOfAnn(raw, MAIL)).toBeUndefined()
  expect(await saidOfAnn(raw, TO_ANN)).toBeUndefined()
})
