/** Files on their way into a cell. They are sent one after the other, each answer has all files of the cell. */
import { useEffect, useRef, useState } from 'react'
import { messageOf } from '../../session/errors.ts'
import { cellTexts } from '../../texts/cells.ts'
import { toast } from '../../ui/toasts/toasts.ts'
import type { EditorProps } from '../cell-kind.ts'
import type { StoredFile } from '../kind.ts'
import { isFile, valuesOf } from '../values.ts'

export interface Sending {
  key: number
  name: string
  /** From 0 to 1. */
  sent: number
  /** What the service said if it refused the file. */
  problem: string | null
}

/** The service takes files up to this size (api.md, Limits). */
const MOST_BYTES = 50 * 1_048_576

let sendings = 0

type Uploading = Pick<EditorProps, 'value' | 'field' | 'surroundings' | 'files' | 'saved'>

export function useUploads({ value, field, surroundings, files: first, saved }: Uploading) {
  const [files, setFiles] = useState<readonly StoredFile[]>(() => valuesOf(value, isFile))
  const [sending, setSending] = useState<readonly Sending[]>([])
  const [problem, setProblem] = useState<string | null>(null)
  const queue = useRef<Promise<void>>(Promise.resolve())
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  const { client, tableId, recordId } = surroundings
  const target = { table_id: tableId, record_id: recordId ?? 0, field_id: field.id }

  const stored = (rows: readonly StoredFile[]) => {
    setFiles(rows)
    saved(rows)
  }
  const change = (key: number, changed: Partial<Sending>) =>
    setSending((all) => all.map((one) => (one.key === key ? { ...one, ...changed } : one)))

  const send = async (file: File, key: number) => {
    if (file.size > MOST_BYTES) return change(key, { problem: cellTexts.tooLarge })
    try {
      const onProgress = ({ sent, total }: { sent: number; total: number | null }) => change(key, { sent: total ? sent / total : 0 })
      const { rows } = await client.upload('files.create', target, file, { onProgress })
      setSending((all) => all.filter((one) => one.key !== key))
      stored(rows)
    } catch (error) {
      change(key, { problem: messageOf(error) })
      // Whoever has closed the field is told of it elsewhere.
      if (!isShown.current) toast(cellTexts.notUploaded(file.name, messageOf(error)))
    }
  }

  const add = (added: readonly File[]) => {
    if (recordId === null) return setProblem(cellTexts.saveFirst)
    for (const file of added) {
      sendings += 1
      const key = sendings
      setSending((all) => [...all, { key, name: file.name, sent: 0, problem: null }])
      queue.current = queue.current.then(() => send(file, key))
    }
  }

  // What was dropped onto the cell is sent once, also where React runs effects twice.
  const hasBegun = useRef(false)
  useEffect(() => {
    if (hasBegun.current || !first?.length) return
    hasBegun.current = true
    add(first)
  })

  return {
    files,
    sending,
    problem,
    add,
    forget: (key: number) => setSending((all) => all.filter((one) => one.key !== key)),
    async remove({ path }: StoredFile) {
      try {
        const { rows } = await client.files.delete.mutate({ ...target, path })
        stored(rows)
      } catch (error) {
        setProblem(messageOf(error))
      }
    },
  }
}
