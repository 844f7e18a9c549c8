import { expect, test } from 'vitest'
import { continuedReferences, continuedThreadIndex } from '../../src/email/composing/threading.ts'

const thread = { threadIndex: null }

test.each<[string, string[], string[], string[]]>([
  ['without a received one', ['<1>', '<2>'], [], ['<1>', '<2>']],
  ['that name mails from elsewhere', ['<1>', '<3>'], ['<0>', '<1>', '<2>'], ['<0>', '<1>', '<2>', '<3>']],
  ['that begin in the middle', ['<1>', '<2>', '<3>'], ['<2>'], ['<1>', '<2>', '<3>']],
  ['that name none of ours', ['<3>'], ['<0>'], ['<0>', '<3>']],
])('references %s', (_, messageIds, references, expected) => {
  expect(continuedReferences({ ...thread, messageIds, references })).toEqual(expected)
})

test('references keep the first mail and the latest ones', () => {
  const references = Array.from({ length: 80 }, (_, index) => `<${index}>`)
  const continued = continuedReferences({ ...thread, messageIds: ['<80>'], references })
  expect([continued.length, continued[0], continued[1], continued.at(-1)]).toEqual([50, '<0>', '<32>', '<80>'])
})

test.each<[string, string, string]>([
  ['an hour after the beginning', '2026-03-02T11:00:00Z', '00021871'],
  ['three years after it', '2029-03-02T10:00:00Z', '86ba7b'],
  ['before it, by another clock', '2026-03-02T09:00:00Z', '00000000'],
])('a conversation of Outlook has the time of each answer: %s', (_, now, expected) => {
  const start = (BigInt(Date.parse('2026-03-02T10:00:00Z') - Date.UTC(1601, 0, 1)) * 10_000n) >> 16n
  const head = Buffer.concat([Buffer.from(start.toString(16).padStart(12, '0'), 'hex'), Buffer.alloc(16, 7)])
  const index = Buffer.from(continuedThreadIndex(head.toString('base64'), new Date(now)), 'base64')
  expect(head[0]).toBe(1)
  expect([index.byteLength, index.subarray(22, 26).toString('hex').slice(0, expected.length)]).toEqual([27, expected])
})
