/** Reads tasks again when somebody has changed them, here or elsewhere. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { type LiveEvent, useLive } from '../session/live/use-live.ts'

/** What comes within this time is read at once. */
const GATHER_MS = 150

/** @param isMeant whether what is shown depends on the event */
export function useTasksLive(key: readonly unknown[], isMeant: (event: LiveEvent) => boolean): void {
  const queries = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  /** Whether a read that has begun before is too old for what has come. */
  const isNewer = useRef(false)
  useEffect(() => () => clearTimeout(timer.current), [])
  useLive(
    (event) => {
      if (event.type !== 'reset' && !isMeant(event)) return
      clearTimeout(timer.current)
      isNewer.current ||= event.type !== 'reset'
      timer.current = setTimeout(() => {
        void queries.invalidateQueries({ queryKey: key }, { cancelRefetch: isNewer.current })
        isNewer.current = false
      }, GATHER_MS)
    },
    { types: ['task', 'comment'] },
  )
}
