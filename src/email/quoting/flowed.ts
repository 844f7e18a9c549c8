/**
 * Joins the lines of a `format=flowed` text into paragraphs (RFC 3676 §4). Only lines of the same quote depth are joined, so that an answer
 * below a quoted line does not become part of the quote.
 * @param deleteSpace true for `DelSp=yes`: the space that marks a line as flowed is not part of the text
 */
export function unflowed(text: string, deleteSpace: boolean): string {
  const lines: string[] = []
  let paragraph: string[] = []
  let paragraphDepth = 0
  const finish = () => {
    if (paragraph.length) lines.push(shown(paragraphDepth, paragraph.join('')))
    paragraph = []
  }
  for (const line of text.split(/\r?\n/)) {
    const depth = /^>*/.exec(line)?.[0].length ?? 0
    const content = line.slice(line[depth] === ' ' ? depth + 1 : depth)
    // An empty line stays, although it would only end the paragraph by the RFC.
    if (depth !== paragraphDepth || !content) finish()
    paragraphDepth = depth
    // The signature delimiter ends with a space, but is a line of its own (RFC 3676 §4.3).
    const isDelimiter = content === '-- '
    if (isDelimiter) finish()
    const isFlowed = content.endsWith(' ') && !isDelimiter
    paragraph.push(isFlowed && deleteSpace ? content.slice(0, -1) : content)
    if (!isFlowed) finish()
  }
  finish()
  return lines.join('\n')
}

function shown(depth: number, content: string): string {
  if (depth) return `${'>'.repeat(depth)} ${content}`.trimEnd()
  // The space before a > that the sender typed stays, because the line would look like a quote without it.
  return content.startsWith('>') ? ` ${content}` : content
}
