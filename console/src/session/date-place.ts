/** Where and when the person reads: how instants are shown to them. */
import { useMemo } from 'react'
import type { DatePlace } from '../ui/locale/date-text.ts'
import { useNow } from '../ui/now.ts'
import { useMe } from './me.ts'

/** The zone of the person, the language of the browser, and now, which goes on each minute. */
export function useDatePlace(): DatePlace {
  const { timezone } = useMe()
  const now = useNow()
  return useMemo(() => ({ zone: timezone, locale: navigator.language, now }), [timezone, now])
}
