/** A comment as it is shown. It is text, whatever it holds: people who are mentioned and addresses are found in it, nothing else is. */
import { TOKEN } from './mention-text.ts'

type Piece = { kind: 'text'; text: string } | { kind: 'mention'; id: number; name: string } | { kind: 'link'; address: string }

/** No address goes on after a mark that changes the direction of text. */
const ADDRESS = /https?:\/\/[^\s<>"'`{}|\\^\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gi
/** What follows an address in a sentence is no part of it. */
const AFTER = /[.,;:!?)\]]+$/

/** Marks that turn letters around, whatever their language: no text needs them, and they make it say something else than it does. */
const OVERRIDES = /[\u202d\u202e]/g

/** The parts of a comment as the API has it. */
export function piecesOf(written: string): Piece[] {
  const content = written.replaceAll(OVERRIDES, '')
  const pieces: Piece[] = []
  let end = 0
  for (const { index, 0: token, 1: id, 2: name = '' } of content.matchAll(TOKEN)) {
    pieces.push(...linked(content.slice(end, index)), { kind: 'mention', id: Number(id), name })
    end = index + token.length
  }
  return [...pieces, ...linked(content.slice(end))]
}

function linked(text: string): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const { index, 0: found } of text.matchAll(ADDRESS)) {
    const address = found.replace(AFTER, '')
    if (!URL.canParse(address)) continue
    pieces.push({ kind: 'text', text: text.slice(end, index) }, { kind: 'link', address })
    end = index + address.length
  }
  pieces.push({ kind: 'text', text: text.slice(end) })
  return pieces.filter((piece) => piece.kind !== 'text' || piece.text !== '')
}

const MOST_SHOWN = 1_500
const MOST_LINES = 20
/** What is only a bit longer is shown as a whole. */
const [MORE_CHARACTERS, MORE_LINES] = [300, 5]

/** The beginning of a long text; null if all of it is shown. No mention is cut in two. */
export function folded(content: string): string | null {
  const lines = content.split('\n', MOST_LINES + MORE_LINES + 1)
  const isTall = lines.length > MOST_LINES + MORE_LINES
  if (content.length <= MOST_SHOWN + MORE_CHARACTERS && !isTall) return null
  const tall = isTall ? lines.slice(0, MOST_LINES).join('\n').length : MOST_SHOWN
  let end = Math.min(MOST_SHOWN, tall)
  for (const { index, 0: token } of content.matchAll(TOKEN)) {
    if (index >= end) break
    if (index + token.length > end) end = index
  }
  return `${content.slice(0, end).trimEnd()}…`.toWellFormed()
}
