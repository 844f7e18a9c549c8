/** The comment that a person was writing about something that is gone: that in the field, after the one that was on its way. */
import { useDraft } from '../session/drafts/use-draft.ts'
import { commentTexts } from '../texts/record/comments.ts'
import { LeftText } from '../ui/left-text.tsx'

export function LeftComment({ draftName }: { draftName: `draft.${string}` }) {
  const draft = useDraft(draftName, commentOf)
  if (!draft.value) return null
  return <LeftText label={commentTexts.field} text={draft.value} discard={draft.clear} />
}

function commentOf(stored: unknown): string | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { content, outgoing } = stored as { content?: unknown; outgoing?: { content?: unknown } | null }
  return [outgoing?.content, content].filter((text) => typeof text === 'string' && text !== '').join('\n\n') || null
}
