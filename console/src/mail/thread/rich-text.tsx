/**
 * The body of a mail that was written here. Of its HTML only what the composer can write is shown, as elements of this page: nothing of
 * it is put into the page as HTML, so it can neither run nor load anything.
 */
import { createElement, Fragment, type ReactNode, useMemo } from 'react'
import { threadTexts } from '../../texts/mail/thread.ts'
import type { TokenField } from '../editor/token-fields.ts'
import { useOpened } from '../remembered.ts'
import { Folded } from './folded-text.tsx'
import { TokenText } from './token-text.tsx'

const SHOWN = new Set('P DIV SPAN BR B STRONG I EM U S CODE PRE UL OL LI HR TABLE TBODY THEAD TR TD TH H1 H2 H3 H4 H5 H6'.split(' '))
/** A heading within a mail is none of this page. */
const INSTEAD: Record<string, string> = { H1: 'p', H2: 'p', H3: 'p', H4: 'p', H5: 'p', H6: 'p' }
const VOID = new Set(['BR', 'HR'])
/** What is not text at all. */
const LEFT_OUT = new Set(
  'SCRIPT STYLE TEMPLATE NOSCRIPT IFRAME OBJECT EMBED SVG MATH TITLE HEAD FORM INPUT BUTTON SELECT TEXTAREA'.split(' '),
)
/** The original has the rest. */
const MOST_HTML = 200_000
const MOST_NODES = 4_000
const MOST_LEVELS = 40

interface Reading {
  name: string
  /** How its text is shown. */
  textOf(text: string): ReactNode
  left: number
  quotes: number
}

/** What is shown of a long mail at first: so many of its blocks, or so many characters. */
const FIRST_BLOCKS = 16
const FIRST_CHARACTERS = 2_000

interface Props {
  /** A name for what is opened in it. */
  name: string
  html: string
  /** What its tokens stand for, while they are not resolved. */
  fields?: readonly TokenField[] | undefined
}

export function RichText({ name, html, fields }: Props) {
  const [isWhole, setWhole] = useOpened(`${name} whole mail`)
  // A document without a window: its scripts do not run, and its images are not loaded.
  const { body, first, isEmpty } = useMemo(() => {
    const parsed = new DOMParser().parseFromString(html.slice(0, MOST_HTML), 'text/html').body
    return { body: parsed, first: beginningOf(parsed), isEmpty: !parsed.textContent?.trim() && !parsed.querySelector('img') }
  }, [html])
  const content = useMemo(() => {
    const textOf = (text: string) => (fields ? <TokenText text={text} fields={fields} /> : text)
    const reading: Reading = { name, textOf, left: MOST_NODES, quotes: 0 }
    const nodes = isWhole ? [...body.childNodes] : first
    return createElement(Fragment, null, ...nodes.map((node) => (isIntroduction(node) ? null : shown(node, reading, 1))))
  }, [name, body, first, isWhole, fields])
  if (isEmpty) return <p className="mail-empty">{threadTexts.emptyMail}</p>
  return (
    <div className="mail-rich" dir="auto">
      {content}
      {first.length < body.childNodes.length && (
        <button type="button" className="button quiet small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? threadTexts.lessMail : threadTexts.wholeMail}
        </button>
      )}
      {isWhole && html.length > MOST_HTML && <p className="mail-empty">{threadTexts.restInOriginal}</p>}
    </div>
  )
}

/** True for the line above a quote that says whose it is: it is folded with the quote. */
function isIntroduction(node: Node | null): boolean {
  if (!(node instanceof Element) || node.nextElementSibling?.tagName !== 'BLOCKQUOTE') return false
  const text = node.textContent?.trim() ?? ''
  return node.tagName === 'P' && text.endsWith(':') && text.length <= MOST_INTRODUCTION
}
const MOST_INTRODUCTION = 300

/** The blocks at the beginning: all of them if only a few are left. */
function beginningOf({ childNodes }: Element): ChildNode[] {
  const nodes = [...childNodes]
  let characters = 0
  const count = nodes.findIndex((node, at) => {
    characters += node.textContent?.length ?? 0
    return at >= FIRST_BLOCKS || characters > FIRST_CHARACTERS
  })
  return count < 0 || count + 3 > nodes.length ? nodes : nodes.slice(0, count + 1)
}

const shownIn = (element: Element, reading: Reading, level: number): ReactNode =>
  createElement(Fragment, null, ...[...element.childNodes].map((node) => shown(node, reading, level)))

function shown(node: Node, reading: Reading, level: number): ReactNode {
  if (reading.left <= 0) return null
  reading.left -= 1
  if (node.nodeType === Node.TEXT_NODE) return reading.textOf(node.nodeValue ?? '')
  if (!(node instanceof Element) || LEFT_OUT.has(node.tagName.toUpperCase())) return null
  if (level >= MOST_LEVELS) return node.textContent
  const tag = node.tagName
  if (tag === 'A') return link(node, shownIn(node, reading, level + 1))
  if (tag === 'IMG') return image(node)
  if (tag === 'BLOCKQUOTE') return quote(node, reading, level)
  if (!SHOWN.has(tag)) return shownIn(node, reading, level + 1)
  const name = INSTEAD[tag] ?? tag.toLowerCase()
  return VOID.has(tag) ? createElement(name) : createElement(name, null, shownIn(node, reading, level + 1))
}

function link(element: Element, children: ReactNode): ReactNode {
  const address = element.getAttribute('href') ?? ''
  if (!/^(https?|mailto):/i.test(address)) return children
  return (
    <a href={address} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

/** Only files of this service are shown; the original shows others if it is asked to. */
function image(element: Element): ReactNode {
  const source = element.getAttribute('src') ?? ''
  const words = element.getAttribute('alt') ?? ''
  if (/^\/api\/file\/[^/?#]+$/.test(source)) return <img src={source} alt={words} loading="lazy" />
  return words && <span className="mail-image">{words}</span>
}

function quote(element: Element, reading: Reading, level: number): ReactNode {
  reading.quotes += 1
  const name = `${reading.name} quote ${reading.quotes}`
  const inside = shownIn(element, reading, level + 1)
  const lines = Math.max(1, element.querySelectorAll('p, div, li, br').length)
  return level > 2 ? (
    <blockquote>{inside}</blockquote>
  ) : (
    <Folded name={name} lines={lines}>
      {level === 1 && isIntroduction(element.previousElementSibling) && <p>{element.previousElementSibling?.textContent}</p>}
      <blockquote>{inside}</blockquote>
    </Folded>
  )
}
