/** What is typed for a new task, what it becomes, and how it is sent. The line is a draft, so that nothing loses it. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useClient } from '../../session/client.ts'
import { useDraft } from '../../session/drafts/use-draft.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { useNow } from '../../ui/now.ts'
import { usePeople } from '../people.ts'
import { type CreatedTask, createTaskOnce, isStillRunning } from './create-task.ts'
import { mentionsIn } from './found-people.ts'
import type { RecordOfTask } from './opened.ts'
import { readQuickAdd } from './quick-add.ts'

interface Line {
  text: string
  /** The parts that are to stay in the title. */
  kept: string[]
}

function lineOf(stored: unknown): Line | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { text, kept } = stored as Record<string, unknown>
  if (typeof text !== 'string') return null
  return { text, kept: Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [] }
}

export type QuickAdd = ReturnType<typeof useQuickAdd>

export function useQuickAdd(onRecord: RecordOfTask | undefined, created: (task: CreatedTask) => void) {
  const client = useClient()
  const me = useMe()
  const queries = useQueryClient()
  const now = useNow()
  const draft = useDraft('draft.quick-add', lineOf)
  const { text, kept } = draft.value ?? { text: '', kept: [] }
  const words = useMemo(() => [...new Set(mentionsIn(text).map(({ word }) => word.toLowerCase()))].filter(Boolean), [text])
  const { people, isBusy } = usePeople(onRecord?.spaceId ?? null, words)
  const place = { zone: me.timezone, locale: navigator.language, now, me: { id: me.id, name: me.name, email: me.email }, people }
  const task = readQuickAdd(text, place, new Set(kept))
  const isLooking = isBusy && words.length > 0
  const [isEntered, setEntered] = useState(false)
  const [isSending, setSending] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  /** An empty line says what is missing once somebody wants to send it. */
  const [isAsked, setAsked] = useState(false)

  const change = (line: Line) => {
    setFailure(null)
    setEntered(false)
    if (line.text === '') draft.clear()
    else draft.set(line)
  }

  const send = async () => {
    setSending(true)
    setFailure(null)
    try {
      const made = await createTaskOnce(client, task, onRecord, draft.key)
      draft.clear()
      void queries.invalidateQueries({ queryKey: ['tasks'] })
      void queries.invalidateQueries({ queryKey: ['notifications'] })
      if (onRecord) void queries.invalidateQueries({ queryKey: ['timeline', onRecord.tableId, onRecord.recordId] })
      created(made)
    } catch (error) {
      const isRepeated = errorData(error)?.code === 'CONFLICT' && !isStillRunning(error)
      if (isRepeated) draft.renew()
      setFailure(isRepeated ? taskTexts.createdBefore : messageOf(error))
    } finally {
      setSending(false)
    }
  }

  const latestSend = useRef(send)
  latestSend.current = send
  // Enter that came before the people were there waits for them.
  useEffect(() => {
    if (!isEntered || isLooking) return
    setEntered(false)
    void latestSend.current()
  }, [isEntered, isLooking])

  return {
    ...{ text, task, place, people, draft, isSending, isLooking, failure },
    problem: task.problem !== null && (isAsked || text.trim() !== '') ? task.problem : null,
    type: (typed: string) => change({ text: typed, kept: kept.filter((one) => typed.includes(one)) }),
    /** Leaves a part in the title. */
    keep: (part: string) => change({ text, kept: [...kept, part] }),
    enter() {
      setAsked(true)
      if (task.problem !== null || isSending || draft.conflict) return
      if (isLooking) setEntered(true)
      else void send()
    },
  }
}
