/**
 * The text of a mail: the words of its sender, and folded what else is in it. Links can be followed, and nothing else in it does
 * anything.
 */
import { Fragment, type ReactNode, useMemo } from 'react'
import { threadTexts } from '../../texts/mail/thread.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { useOpened } from '../remembered.ts'
import { beginningOf, type Part, partsOf, textOf } from './quoted.ts'

/** What is shown of a long mail at first. */
const FIRST = { lines: 24, characters: 2_400 }
/** A browser lays out no more than this of one mail at once; the original has the rest. */
const MOST = { lines: 20_000, characters: 400_000 }

/** @param name a name for what is opened in it */
export function FoldedText({ name, text, visible }: { name: string; text: string; visible: string }) {
  const parts = useMemo(() => partsOf(text, visible), [text, visible])
  const isEmpty = parts.every((part) => textOf(part) === '')
  if (isEmpty) return <p className="mail-empty">{threadTexts.emptyMail}</p>
  return (
    <div className="mail-text" dir="auto">
      {parts.map((part, at) =>
        part.kind === 'said' ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a mail never change their order
          <Said key={at} name={`${name} said ${at}`} part={part} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a mail never change their order
          <Folded key={at} name={`${name} quote ${at}`} lines={textOf(part).split('\n').length}>
            <p className="mail-lines">{linked(beginningOf(textOf(part), MOST))}</p>
          </Folded>
        ),
      )}
    </div>
  )
}

function Said({ name, part }: { name: string; part: Part }) {
  const [isWhole, setWhole] = useOpened(name)
  const text = beginningOf(textOf(part), MOST)
  const beginning = beginningOf(text, FIRST)
  const isLong = beginning.length < text.length
  return (
    <>
      <p className="mail-lines">{linked(isWhole ? text : beginning)}</p>
      {isLong && (
        <button type="button" className="button quiet small" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? threadTexts.lessMail : threadTexts.wholeMail}
        </button>
      )}
    </>
  )
}

/** Quoted text behind a button that says how much of it there is. */
export function Folded({ name, lines, children }: { name: string; lines: number; children: ReactNode }) {
  const [isOpen, setOpen] = useOpened(name)
  return (
    <div className="mail-quote">
      <button
        type="button"
        className="mail-fold"
        aria-expanded={isOpen}
        title={isOpen ? threadTexts.hideQuoted : threadTexts.showQuoted}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={isOpen ? 'chevron-down' : 'ellipsis'} />
        <span>{threadTexts.quoted(lines)}</span>
      </button>
      {isOpen && <div className="mail-quoted">{children}</div>}
    </div>
  )
}

const ADDRESS = /\bhttps?:\/\/[^\s<>"“”„«»]+[^\s<>"“”„«».,;:!?)\]}'’]/gi

/** The text with its addresses as links, which open beside the page and tell nothing about it. */
function linked(text: string): ReactNode {
  const pieces: ReactNode[] = []
  let from = 0
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    pieces.push(
      <Fragment key={index}>
        {text.slice(from, index)}
        <a href={address} target="_blank" rel="noopener noreferrer">
          {address}
        </a>
      </Fragment>,
    )
    from = index + address.length
  }
  return pieces.length ? [...pieces, text.slice(from)] : text
}
