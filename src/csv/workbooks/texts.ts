/** The texts of cells: in the cell, or in the table of shared strings (ECMA-376 part 1, 18.4). */
import type { Archive } from './archive.ts'
import { type Attributes, readXml } from './xml.ts'

const keepsBlanks = (attributes: Attributes) => attributes['xml:space'] === 'preserve'
const BLANKS_BEFORE = /^[ \t\r\n]+/
const BLANKS_AFTER = /[ \t\r\n]+$/

/** Collects a text, which may have runs. Blanks around it count only if its writer says so, as in Excel. */
export class TextCollector {
  #text = ''
  #isOpen = false
  #isPhonetic = false
  #isWhole = false
  /** Whether the blanks at the beginning, and at the end so far, count. */
  #keepsBefore: boolean | undefined
  #keepsAfter = false

  /** @param isDirect true if the element holds the text itself, false if it holds `t` or runs */
  begin(attributes: Attributes, isDirect: boolean): void {
    this.#text = ''
    this.#isOpen = isDirect
    this.#isPhonetic = false
    this.#isWhole = keepsBlanks(attributes)
    this.#keepsBefore = isDirect ? this.#isWhole : undefined
    this.#keepsAfter = this.#isWhole
  }

  open(name: string, attributes: Attributes): void {
    if (name === 'rPh') this.#isPhonetic = true
    if (name !== 't' || this.#isPhonetic) return
    this.#isOpen = true
    this.#keepsAfter = this.#isWhole || keepsBlanks(attributes)
    this.#keepsBefore ??= this.#keepsAfter
  }

  add(text: string): void {
    if (this.#isOpen) this.#text += text
  }

  close(name: string): void {
    if (name === 't') this.#isOpen = false
    if (name === 'rPh') this.#isPhonetic = false
  }

  end(): string {
    this.#isOpen = false
    const begun = this.#keepsBefore ? this.#text : this.#text.replace(BLANKS_BEFORE, '')
    return this.#keepsAfter ? begun : begun.replace(BLANKS_AFTER, '')
  }
}

/** Reads characters that XML cannot have, such as `_x000D_` for a carriage return (ECMA-376 part 1, 22.9.2.19). */
export const unescaped = (text: string): string =>
  text.includes('_x') ? text.replaceAll(/_x([\dA-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))) : text

/** The shared strings, by their index. */
export async function readStrings(archive: Archive, path: string): Promise<string[]> {
  const strings: string[] = []
  const text = new TextCollector()
  let isInString = false
  await readXml(archive.read(path), {
    open(name, attributes) {
      if (name === 'si') {
        isInString = true
        text.begin(attributes, false)
      } else if (isInString) text.open(name, attributes)
    },
    text: (piece) => text.add(piece),
    close(name) {
      if (name === 'si') {
        isInString = false
        strings.push(unescaped(text.end()))
      } else text.close(name)
    },
  })
  return strings
}
