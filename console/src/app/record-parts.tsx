/** What is in the frame of a record: parts of features that come after it, which are loaded with the first record. */

import { WriteButton } from '../mail/composer/write-button.tsx'
import type { RecordParts } from '../record/record-parts.ts'
import { lazyPart } from '../ui/lazy-part.tsx'
import { loadedPart } from '../ui/loaded-part.tsx'

const timeline = loadedPart(async () => (await import('./record-timeline.tsx')).RecordTimeline)
const tasks = loadedPart(async () => (await import('../tasks/on-record/record-tasks.tsx')).RecordTasks)

/** Loads the parts that every record shows. What fails to load is asked for again when it is needed. */
export const preloadParts = async (): Promise<void> => void (await Promise.allSettled([timeline.preload(), tasks.preload()]))

const Composer = lazyPart(async () => ({ default: (await import('../mail/composer/composer.tsx')).Composer }))

export const recordParts: RecordParts = { Timeline: timeline.Part, Tasks: tasks.Part, Composer, Actions: WriteButton }
