/** Which messages count as written by a program. */
import { expect, test } from 'vitest'
import { readHeaders } from '../../src/email/headers.ts'
import { isAutomatic } from '../../src/email/reports/automatic.ts'

test.each<[string, string, boolean]>([
  ['Auto-Submitted: auto-replied', 'x', true],
  ['Auto-Submitted: no', 'x', false],
  ['Precedence: bulk', 'x', true],
  ['Precedence: auto_reply', 'x', true],
  ['Precedence: list', 'x', false],
  ['X-Autoreply: yes', 'x', true],
  ['X-Autorespond: vacation', 'x', true],
  ['Return-Path: <>', 'x', true],
  ['Return-Path: <a@b.example>', 'x', false],
  ['X-Auto-Response-Suppress: OOF, AutoReply', 'x', true],
  ['X-Other: 1', 'Abwesenheitsnotiz: Angebot', true],
  ['X-Other: 1', 'Re: is your out of office on?', false],
])('%s with the subject "%s": %s', (header, subject, expected) => {
  expect(isAutomatic(readHeaders(Buffer.from(`${header}\r\n\r\n`)), { from: 'a@b.example', subject })).toBe(expected)
})
