/** The labelled messages in test/fixtures/labelled-mail. All of them were written for the tests, in the forms of many mail systems and programs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../fixtures/labelled-mail')

/** The form of the message, its raw bytes, and what a person reads in it. */
export type LabelledMessage = [form: string, raw: Buffer, label: string]

/** Reads a file: each message begins below a line with its form, and ends above its label; ordinary messages have none. */
export function labelledMessages(file: string): LabelledMessage[] {
  return readFileSync(join(FOLDER, file), 'utf8')
    .split(/^######## /m)
    .slice(1)
    .map((entry) => {
      const [, form = '', message = '', label = ''] = /^(.+)\n([\s\S]*?)\n(?:======== ?([\s\S]*))?$/.exec(entry) ?? []
      return [form, Buffer.from(message.replaceAll('\n', '\r\n')), label.trimEnd()]
    })
}
