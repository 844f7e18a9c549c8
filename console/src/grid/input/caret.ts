/**
 * The place in the active cell where an input method writes. It is a character without a width beside what the cell shows, which cannot be
 * edited itself; a cell without such a place gets no input.
 */
export const CARET = '\u200b'

/** Puts the caret into the cell. */
export function placeCaret(cell: Element | null | undefined): void {
  const text = cell?.firstChild
  if (text instanceof Text && text.data.startsWith(CARET)) getSelection()?.collapse(text, text.length)
}

/** Takes away what an input method has written. */
export function emptyCaret(cell: Element): void {
  const text = cell.firstChild
  if (text instanceof Text) text.data = CARET
}
