/** Files on their way to a mail. They are sent one after the other, and are in the draft once the service has them. */
import { useRef, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { type MailFile, MOST_BYTES } from '../draft/mail-draft.ts'

export interface Upload {
  key: number
  name: string
  /** From 0 to 1. */
  sent: number
  problem: string | null
  stop(): void
}

let uploads = 0

export function useAttachments(
  place: { tableId: number; recordId: number },
  present: () => readonly MailFile[],
  put: (files: MailFile[]) => void,
) {
  const client = useClient()
  const [sending, setSending] = useState<readonly Upload[]>([])
  const queue = useRef<Promise<void>>(Promise.resolve())
  const change = (key: number, changed: Partial<Upload>) =>
    setSending((all) => all.map((one) => (one.key === key ? { ...one, ...changed } : one)))
  const forget = (key: number) => setSending((all) => all.filter((one) => one.key !== key))

  async function send(file: File, key: number, ending: AbortController): Promise<void> {
    if (ending.signal.aborted) return
    const taken = present().reduce((sum, { size }) => sum + size, 0)
    if (taken + file.size > MOST_BYTES) return change(key, { problem: composerTexts.tooLarge })
    try {
      const target = { table_id: place.tableId, record_id: place.recordId }
      const { name, path, size, type } = await client.upload('comments.upload', target, file, {
        signal: ending.signal,
        onProgress: ({ sent, total }) => change(key, { sent: total ? sent / total : 0 }),
      })
      forget(key)
      put([...present(), { name, path, size, type }])
    } catch (error) {
      if (!ending.signal.aborted) change(key, { problem: messageOf(error) })
    }
  }

  return {
    sending,
    forget,
    isBusy: sending.some(({ problem }) => problem === null),
    add(files: readonly File[]) {
      for (const file of files) {
        uploads += 1
        const key = uploads
        const ending = new AbortController()
        const stop = () => {
          ending.abort()
          forget(key)
        }
        setSending((all) => [...all, { key, name: file.name, sent: 0, problem: null, stop }])
        queue.current = queue.current.then(() => send(file, key, ending))
      }
    },
  }
}
