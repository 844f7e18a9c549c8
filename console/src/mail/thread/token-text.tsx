/** A text of a mail that is not sent yet: in the place of each token stands what the record has now. */
import type { ReactNode } from 'react'
import { chipOf, type TokenField } from '../editor/token-fields.ts'
import { partsOf, type Token } from '../editor/tokens.ts'

export function TokenText({ text, fields }: { text: string; fields: readonly TokenField[] }): ReactNode {
  let position = 0
  return partsOf(text).map((part) => {
    position += 1
    if (typeof part === 'string') return part
    const { title, isGone } = chipOf(part, fields)
    return (
      <span key={position} className="mail-token" data-gone={isGone ? '' : undefined} title={title}>
        {meaningOf(part, fields)}
      </span>
    )
  })
}

/** The same in plain text. */
export const withValues = (text: string, fields: readonly TokenField[]): string =>
  partsOf(text)
    .map((part) => (typeof part === 'string' ? part : meaningOf(part, fields)))
    .join('')

/** The value as it is now; of an empty field its name. */
function meaningOf(token: Token, fields: readonly TokenField[]): string {
  const { value = '' } = fields.find(({ slug }) => slug === token.slug) ?? {}
  return value || chipOf(token, fields).text
}
