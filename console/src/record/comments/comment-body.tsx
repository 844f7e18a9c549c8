/** The text of a comment as it is read. A long one is folded. */
import { memo, useMemo, useState } from 'react'
import { commentTexts } from '../../texts/record/comments.ts'
import { folded, piecesOf } from './pieces.ts'

interface Props {
  /** As the API has it. */
  content: string
  /** The reader, whose mentions are marked. */
  me?: number
}

/** Texts that were unfolded stay so while the timeline takes their comments out of the page. */
const opened = new Set<string>()

export const CommentBody = memo(({ content, me }: Props) => {
  const [isOpen, setIsOpen] = useState(() => opened.has(content))
  const beginning = useMemo(() => folded(content), [content])
  const pieces = useMemo(() => piecesOf(isOpen ? content : (beginning ?? content)), [content, beginning, isOpen])
  const toggle = () => {
    if (isOpen) opened.delete(content)
    else opened.add(content)
    setIsOpen(!isOpen)
  }
  if (content === '') return null
  return (
    <div className="comment-body">
      <div className="entry-text" dir="auto">
        {pieces.map((piece, index) => {
          const key = `${index}`
          if (piece.kind === 'text') return piece.text
          if (piece.kind === 'mention')
            return (
              <bdi key={key} className="mention" data-me={piece.id === me ? '' : undefined}>
                @{piece.name}
              </bdi>
            )
          return (
            <a key={key} href={piece.address} target="_blank" rel="noopener noreferrer">
              <bdi>{piece.address}</bdi>
            </a>
          )
        })}
      </div>
      {beginning !== null && (
        <button type="button" className="button quiet small" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? commentTexts.less : commentTexts.more(content.length)}
        </button>
      )}
    </div>
  )
})
