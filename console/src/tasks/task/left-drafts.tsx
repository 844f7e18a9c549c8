/** What a person had typed into a task that is gone. */
import { taskTexts } from '../../texts/tasks.ts'
import { LeftText } from '../../ui/left-text.tsx'
import { useLeftTexts } from '../editing/text-drafts.ts'

/** The title and the details. */
export function LeftTexts({ taskId }: { taskId: number }) {
  const { discard, ...texts } = useLeftTexts(taskId)
  return (['title', 'details'] as const).map((name) => {
    const text = texts[name]
    return text === undefined ? null : <LeftText key={name} label={taskTexts[name]} text={text} discard={discard} />
  })
}
