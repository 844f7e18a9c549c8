/** Reads labelled replies in the forms of many mail programs, phones and languages. */
import { expect, test } from 'vitest'
import { parseMail } from '../../src/email/inbound/mime.ts'
import { labelledMessages } from '../support/labelled-messages.ts'

test.each(labelledMessages('replies.txt'))('of a reply by %s the words of its sender remain', async (_, raw, label) => {
  expect((await parseMail(raw)).visibleText).toBe(label)
})
