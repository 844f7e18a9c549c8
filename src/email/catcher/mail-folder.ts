/** The caught mails, as `.eml` files in a folder, so that they survive a restart and open in any mail program. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime, { addressParser } from 'postal-mime'
import { ifMissing } from '../../platform/bytes/missing-file.ts'
import { withoutUnseen } from '../../platform/unseen-characters.ts'
import { headerValues } from '../headers.ts'

/** One row of /dev/mail.json (contract.md §6). */
export interface CaughtMail {
  id: number
  receivedAt: string
  messageId: string
  envelopeFrom: string
  envelopeTo: string[]
  /** The value of the header. */
  from: string
  /** The addresses in the header. */
  to: string[]
  subject: string
  /** By lower-case name. The values of a repeated header are joined with line breaks. */
  headers: Record<string, string>
  html: string | null
  text: string | null
  attachments: { name: string; type: string; size: number }[]
}

interface Envelope {
  from: string
  to: string[]
}

export interface MailFolder {
  /** Keeps a mail. It is on disk when the promise resolves. */
  add(raw: Buffer, envelope: Envelope): Promise<void>
  /** Newest first. */
  mails(): CaughtMail[]
  /** Reads what other processes have added since, and forgets what they have deleted. */
  refresh(): Promise<void>
  /** The mail as it was sent; undefined if it is not kept any more. */
  source(id: number): Promise<Buffer | undefined>
}

const FILE = /^(\d{1,9})\.eml$/

/**
 * Opens the folder, and creates it if necessary. A file that is no caught mail is left alone.
 * @param keep the number of mails that are kept; older ones are deleted
 */
export async function openMailFolder(folder: string, keep: number): Promise<MailFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const pathOf = (id: number) => join(folder, `${String(id).padStart(6, '0')}.eml`)
  const caught: CaughtMail[] = []
  await refresh()
  await forgetOldest()

  async function refresh(): Promise<void> {
    const ids = await idsIn(folder)
    const isKnown = new Set(caught.map(({ id }) => id))
    // A file that another process is just deleting is read as an empty one.
    const read = (id: number) => readFile(pathOf(id)).then((bytes) => parsed(id, bytes), ifMissing(undefined))
    const added = (await Promise.all(ids.filter((id) => !isKnown.has(id)).map(read))).filter((mail) => mail !== undefined)
    // Of two refreshes at once, the first has added the same mails.
    const byId = new Map([...caught, ...added].map((mail) => [mail.id, mail]))
    const present = [...byId.values()].filter(({ id }) => ids.includes(id))
    caught.splice(0, caught.length, ...present.sort((a, b) => b.id - a.id))
  }

  async function forgetOldest(): Promise<void> {
    for (const { id } of caught.splice(keep)) await rm(pathOf(id), { force: true })
  }

  return {
    async add(raw, envelope) {
      const bytes = Buffer.concat([prefixOf(envelope, new Date()), raw])
      const last = Math.max(0, ...(await idsIn(folder)), ...caught.map(({ id }) => id))
      const id = await writeAs(last + 1, bytes, pathOf)
      const mail = await parsed(id, bytes)
      if (mail) caught.unshift(mail)
      await forgetOldest()
    },
    mails: () => [...caught],
    refresh,
    source: (id) =>
      readFile(pathOf(id)).then(
        (bytes) => split(bytes)?.raw,
        () => undefined,
      ),
  }
}

/** The ids of the stored mails, oldest first. */
async function idsIn(folder: string): Promise<number[]> {
  const names = await readdir(folder)
  return names.flatMap((name) => Number(FILE.exec(name)?.[1] ?? 'NaN') || []).sort((a, b) => a - b)
}

/** Writes the file under the first free id. Another process of the installation can write to the folder at the same time. */
async function writeAs(first: number, bytes: Buffer, pathOf: (id: number) => string): Promise<number> {
  for (let id = first; ; id += 1) {
    try {
      // The empty file reserves the id, and the rename makes the content appear at once.
      const reserved = await open(pathOf(id), 'wx', 0o600)
      await reserved.close()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    const unfinished = await open(`${pathOf(id)}~`, 'w', 0o600)
    await unfinished.writeFile(bytes)
    await unfinished.close()
    await rename(`${pathOf(id)}~`, pathOf(id))
    return id
  }
}

// ── the envelope, in headers before those of the mail ──────────────────────

const prefixOf = ({ from, to }: Envelope, at: Date) =>
  Buffer.from(`Return-Path: <${from}>\r\nX-Envelope-To: ${to.join(', ')}\r\nX-Caught-At: ${at.toISOString()}\r\n`)

const PREFIX = /^Return-Path: <([^\r\n]*)>\r\nX-Envelope-To: ([^\r\n]*)\r\nX-Caught-At: ([^\r\n]*)\r\n/

function split(bytes: Buffer) {
  // An envelope has at most 1,000 recipients.
  const [prefix = '', from = '', to = '', at = ''] = PREFIX.exec(bytes.toString('utf8', 0, 400_000)) ?? []
  if (!prefix) return undefined
  return { from, to: to.split(', ').filter(Boolean), at, raw: bytes.subarray(Buffer.byteLength(prefix)) }
}

/** @returns undefined for a file that is no caught mail, such as one that a killed process has left empty */
async function parsed(id: number, bytes: Buffer): Promise<CaughtMail | undefined> {
  const file = split(bytes)
  const email = file && (await PostalMime.parse(file.raw).catch(() => undefined))
  if (!email) return undefined
  const names = [...new Set(email.headers.map(({ key }) => key))]
  return {
    id,
    receivedAt: file.at,
    messageId: email.messageId ?? '',
    envelopeFrom: file.from,
    envelopeTo: file.to,
    from: headerValues(email.headers, 'from')[0] ?? '',
    to: headerValues(email.headers, 'to').flatMap((value) => addressParser(value, { flatten: true }).map(({ address }) => address ?? '')),
    subject: email.subject ?? '',
    headers: Object.fromEntries(names.map((name) => [name, headerValues(email.headers, name).join('\n')])),
    html: email.html?.trimEnd() ?? null,
    text: email.text?.trimEnd() ?? null,
    attachments: email.attachments.map(({ filename, mimeType, content }) => ({
      name: withoutUnseen(filename ?? ''),
      type: mimeType,
      size: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
    })),
  }
}
