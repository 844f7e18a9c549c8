/** Files on their way to a comment that is being written: several at once, each with its progress. */
import { useEffect, useRef, useState } from 'react'
import type { StoredFile } from '../../cells/kind.ts'
import { messageOf } from '../../session/errors.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import type { CommentSubject } from './comment-subject.ts'

export interface Upload {
  key: number
  name: string
  /** From 0 to 1. */
  sent: number
  /** What the service said if it refused the file. */
  problem: string | null
}

/** The service takes files up to this size (api.md, Limits). */
const MOST_BYTES = 50 * 1_048_576

let lastKey = 0

/** @param stored is given each file that the service has */
export function useAttachments({ upload }: CommentSubject, stored: (file: StoredFile) => void) {
  const [uploads, setUploads] = useState<readonly Upload[]>([])
  const latest = useRef({ upload, stored })
  latest.current = { upload, stored }
  const endings = useRef(new Map<number, AbortController>()).current
  useEffect(
    () => () => {
      for (const ending of endings.values()) ending.abort()
    },
    [endings],
  )

  const change = (key: number, changed: Partial<Upload>) =>
    setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...changed } : one)))
  const forget = (key: number) => {
    endings.get(key)?.abort()
    endings.delete(key)
    setUploads((all) => all.filter((one) => one.key !== key))
  }

  const send = async (file: File, key: number) => {
    const ending = new AbortController()
    endings.set(key, ending)
    try {
      const there = await latest.current.upload(file, (sent) => change(key, { sent }), ending.signal)
      if (ending.signal.aborted) return
      forget(key)
      latest.current.stored(there)
    } catch (error) {
      if (!ending.signal.aborted) change(key, { problem: messageOf(error) })
    }
  }

  return {
    uploads,
    isUploading: uploads.some(({ problem }) => problem === null),
    add(files: readonly File[]) {
      for (const file of files) {
        lastKey += 1
        const [key, name] = [lastKey, file.name]
        const problem = file.size > MOST_BYTES ? commentTexts.tooLarge : null
        setUploads((all) => [...all, { key, name, sent: 0, problem }])
        if (problem === null) void send(file, key)
      }
    },
    forget,
  }
}
