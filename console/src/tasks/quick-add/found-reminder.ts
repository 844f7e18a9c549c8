/** Finds a reminder in a line of text: `!30m`, `!2h`, `!1d`, `!9:00`. */

export interface FoundReminder {
  start: number
  end: number
  text: string
  /** Minutes before the due instant, or a time of day `HH:MM:SS` on the due day. */
  minutes?: number
  time?: string
}

const MINUTES = { m: 1, h: 60, d: 1440, w: 10_080 }
const REMINDER = /(?<!\S)!(?:(\d{1,6})\s?(m|min|mins|h|hours?|d|days?|w|weeks?)|([01]?\d|2[0-3]):([0-5]\d))(?!\S)/gi

export const remindersIn = (line: string): FoundReminder[] =>
  [...line.matchAll(REMINDER)].map(({ 0: text, index, 1: count, 2: unit = '', 3: hour, 4: minute }) => ({
    ...{ start: index, end: index + text.length, text },
    ...(count === undefined
      ? { time: `${hour?.padStart(2, '0')}:${minute}:00` }
      : { minutes: Number(count) * MINUTES[unit.charAt(0).toLowerCase() as keyof typeof MINUTES] }),
  }))
