import type { DatePlace } from './date-text.ts'
import { exactTime, machineTime, timeWords } from './time-words.ts'

/** An instant in few words, with the exact one beside it. */
export function When({ instant, place }: { instant: string; place: DatePlace }) {
  return (
    <time className="when" dateTime={machineTime(instant)} title={exactTime(instant, place)}>
      {timeWords(instant, place)}
    </time>
  )
}
