/** The editor of the body, without React. Load it lazily: no other page needs it. */
import { baseKeymap, chainCommands, exitCode, lift, toggleMark, wrapIn } from 'prosemirror-commands'
import { history, redo, undo } from 'prosemirror-history'
import { inputRules, wrappingInputRule } from 'prosemirror-inputrules'
import { keymap } from 'prosemirror-keymap'
import { type MarkType, Node, type NodeType, Slice } from 'prosemirror-model'
import { liftListItem, sinkListItem, splitListItem, wrapInList } from 'prosemirror-schema-list'
import { type Command, EditorState, Plugin } from 'prosemirror-state'
import { EditorView, type NodeView } from 'prosemirror-view'
import type { BodyPart } from './body.ts'
import { mailSchema } from './mail-schema.ts'
import { inlineOf, sliceOf, withParagraphs, withTokens } from './pasted.ts'
import { partsOf, readToken, type Token, tokenText, typedToken } from './tokens.ts'

const { nodes, marks } = mailSchema

/** The caret stays clear of the foot of the composer, which covers the lower edge of what scrolls. */
const FOOT = { top: 5, right: 0, bottom: 72, left: 0 }

/** What of the selection is pressed in the toolbar, and what somebody types of a token. */
export interface EditorFacts {
  pressed: ReadonlySet<Action>
  linkHref: string | null
  isEmpty: boolean
  /** The text after `{{`, with where the caret is on the screen. */
  token: { typed: string; left: number; bottom: number } | null
}

export type Action = 'strong' | 'em' | 'bullet_list' | 'ordered_list' | 'blockquote'

interface EditorOptions {
  label: string
  describedBy: string
  body: BodyPart
  /** How a token is shown. */
  chip(token: Token): { text: string; title: string; isGone: boolean }
  changed(body: BodyPart): void
  looked(facts: EditorFacts): void
  /** Keys while somebody types a token. @returns true if the key was taken */
  keyDown(event: KeyboardEvent): boolean
  files(files: readonly File[]): void
}

export interface MailEditor {
  run(action: Action): void
  /** Makes the selection a link; null ends it. */
  link(href: string | null): void
  insertToken(token: Token): void
  replace(body: BodyPart): void
  focus(): void
  refreshTokens(): void
  destroy(): void
}

export function createMailEditor(place: HTMLElement, options: EditorOptions): MailEditor {
  const chips = new Set<() => void>()
  const view: EditorView = new EditorView(place, {
    state: stateOf(options.body),
    attributes: {
      'aria-label': options.label,
      'aria-multiline': 'true',
      'aria-describedby': options.describedBy,
      role: 'textbox',
      class: 'mail-body',
    },
    dispatchTransaction(transaction) {
      view.updateState(view.state.apply(transaction))
      if (transaction.docChanged) options.changed(view.state.doc.toJSON() as BodyPart)
      options.looked(factsOf(view))
    },
    nodeViews: { token: (node) => chipView(node, options, chips) },
    scrollThreshold: FOOT,
    scrollMargin: FOOT,
    handleKeyDown: (_, event) => options.keyDown(event),
    handleDOMEvents: {
      blur() {
        options.looked(factsOf(view, { isLeft: true }))
        return false
      },
    },
    handlePaste: (_, event) => tookFiles(event.clipboardData, options),
    handleDrop: (_, event) => tookFiles(event.dataTransfer, options),
    clipboardTextParser: (text) => sliceOf(text),
    transformPastedHTML: withParagraphs,
    transformPasted: (slice) => new Slice(withTokens(slice.content), slice.openStart, slice.openEnd),
  })
  options.looked(factsOf(view))

  const run = (command: Command) => {
    command(view.state, view.dispatch, view)
    view.focus()
  }
  return {
    run: (action) => run(commandOf(action, view.state)),
    link: (href) => run(linkCommand(href)),
    insertToken(token) {
      const { from, $from } = view.state.selection
      const typed = /\{\{[^{}\n]*$/.exec($from.parent.textBetween(0, $from.parentOffset, undefined, '\ufffc'))?.[0] ?? ''
      const node = nodes.token.create({ text: tokenText(token) })
      view.dispatch(view.state.tr.replaceRangeWith(from - typed.length, view.state.selection.to, node).scrollIntoView())
      view.focus()
    },
    replace(body) {
      view.updateState(stateOf(body))
      options.looked(factsOf(view))
    },
    focus: () => view.focus(),
    refreshTokens() {
      for (const refresh of chips) refresh()
    },
    destroy: () => view.destroy(),
  }
}

/** @returns an empty body in place of one that the schema refuses, such as one from another release */
function docOf(body: BodyPart): Node {
  try {
    const doc = Node.fromJSON(mailSchema, body)
    doc.check()
    return doc
  } catch {
    return mailSchema.node('doc', null, [mailSchema.node('paragraph', null, textOf(body) ? [mailSchema.text(textOf(body))] : [])])
  }
}

const textOf = ({ text, content = [] }: BodyPart): string => text ?? content.map(textOf).join(' ').trim()

const stateOf = (body: BodyPart): EditorState =>
  EditorState.create({
    doc: docOf(body),
    plugins: [
      inputRules({
        rules: [
          wrappingInputRule(/^\s*[-*]\s$/, nodes.bullet_list),
          wrappingInputRule(/^\s*1[.)]\s$/, nodes.ordered_list),
          wrappingInputRule(/^\s*>\s$/, nodes.blockquote),
        ],
      }),
      keymap({
        'Mod-z': undo,
        'Mod-y': redo,
        'Mod-Shift-z': redo,
        'Mod-b': toggleMark(marks.strong),
        'Mod-i': toggleMark(marks.em),
        Enter: splitListItem(nodes.list_item),
        'Shift-Enter': chainCommands(exitCode, (state, dispatch) => {
          dispatch?.(state.tr.replaceSelectionWith(nodes.hard_break.create()).scrollIntoView())
          return true
        }),
        'Mod-]': sinkListItem(nodes.list_item),
        'Mod-[': liftListItem(nodes.list_item),
        // What was sent by Ctrl+Enter has no new line in it.
        'Mod-Enter': () => true,
      }),
      keymap(baseKeymap),
      history(),
      tokenTyping,
    ],
  })

/** A token that is typed to its end, or put in by a script, becomes a chip. */
const tokenTyping = new Plugin({
  appendTransaction(transactions, _, state) {
    if (!transactions.some(({ docChanged }) => docChanged)) return null
    const { tr } = state
    state.doc.descendants((node, at) => {
      if (!node.isText || !node.text?.includes('}}')) return
      const parts = partsOf(node.text)
      if (parts.every((part) => typeof part === 'string')) return
      tr.replaceWith(tr.mapping.map(at), tr.mapping.map(at + node.nodeSize), inlineOf(parts, node))
    })
    return tr.docChanged ? tr : null
  },
})

function tookFiles(data: DataTransfer | null, { files }: EditorOptions): boolean {
  // A table that is copied from a sheet comes as a picture, too.
  if (!data?.files.length || data.types.includes('text/html')) return false
  files([...data.files])
  return true
}

// ── what is pressed, and the commands ───────────────────────────────────────

function factsOf(view: EditorView, { isLeft = false } = {}): EditorFacts {
  const { state } = view
  const { $from, from, empty } = state.selection
  const around = Array.from({ length: $from.depth + 1 }, (_, depth) => $from.node(depth).type)
  const isMarked = (mark: MarkType) =>
    empty ? Boolean(mark.isInSet(state.storedMarks ?? $from.marks())) : state.doc.rangeHasMark(from, state.selection.to, mark)
  const list = around.findLast((type) => type === nodes.bullet_list || type === nodes.ordered_list)
  const pressed = new Set<Action>([
    ...(isMarked(marks.strong) ? (['strong'] as const) : []),
    ...(isMarked(marks.em) ? (['em'] as const) : []),
    ...(list ? [list === nodes.bullet_list ? ('bullet_list' as const) : ('ordered_list' as const)] : []),
    ...(around.includes(nodes.blockquote) ? (['blockquote'] as const) : []),
  ])
  const link = marks.link.isInSet(empty ? $from.marks() : ($from.nodeAfter?.marks ?? []))
  const typed = empty && !isLeft ? typedToken($from.parent.textBetween(0, $from.parentOffset, undefined, '\ufffc')) : null
  const { left, bottom } = typed === null ? { left: 0, bottom: 0 } : view.coordsAtPos(from)
  return {
    pressed,
    linkHref: link ? String(link.attrs.href) : null,
    isEmpty: state.doc.childCount === 1 && state.doc.firstChild?.type === nodes.paragraph && state.doc.firstChild.content.size === 0,
    token: typed === null ? null : { typed, left, bottom },
  }
}

function commandOf(action: Action, state: EditorState): Command {
  if (action === 'strong' || action === 'em') return toggleMark(marks[action])
  const isInside = (type: NodeType) => {
    const { $from } = state.selection
    return Array.from({ length: $from.depth + 1 }, (_, depth) => $from.node(depth).type).includes(type)
  }
  const type = nodes[action]
  if (action === 'blockquote') return isInside(type) ? lift : wrapIn(type)
  if (isInside(type)) return liftListItem(nodes.list_item)
  const other = action === 'bullet_list' ? nodes.ordered_list : nodes.bullet_list
  return isInside(other) ? chainedLists(type, other) : wrapInList(type)
}

/** Makes the list around the selection one of the other kind. */
const chainedLists =
  (type: NodeType, other: NodeType): Command =>
  (state, dispatch) => {
    const { $from } = state.selection
    const depth = Array.from({ length: $from.depth + 1 }, (_, at) => at).findLast((at) => $from.node(at).type === other)
    if (depth === undefined) return false
    dispatch?.(state.tr.setNodeMarkup($from.before(depth), type))
    return true
  }

const linkCommand =
  (href: string | null): Command =>
  (state, dispatch) => {
    const { from, to, empty, $from } = state.selection
    const [start, end] = empty ? rangeOfLink($from.pos, state) : [from, to]
    const { tr } = state
    tr.removeMark(start, end, marks.link)
    if (href !== null && start === end) tr.insert(start, mailSchema.text(href, [marks.link.create({ href })]))
    else if (href !== null) tr.addMark(start, end, marks.link.create({ href }))
    dispatch?.(tr)
    return true
  }

/** The whole link in which the caret is. */
function rangeOfLink(position: number, { doc }: EditorState): [number, number] {
  const $position = doc.resolve(position)
  const link = marks.link.isInSet($position.marks())
  if (!link) return [position, position]
  let [start, end] = [position, position]
  $position.parent.forEach((node, offset) => {
    const at = $position.start() + offset
    if (!link.isInSet(node.marks)) return
    if (at <= position && at + node.nodeSize >= position) [start, end] = [Math.min(start, at), Math.max(end, at + node.nodeSize)]
  })
  return [start, end]
}

function chipView(node: Node, { chip }: EditorOptions, chips: Set<() => void>): NodeView {
  const dom = document.createElement('span')
  const show = () => {
    const token = readToken(String(node.attrs.text))
    const { text, title, isGone } = token ? chip(token) : { text: String(node.attrs.text), title: '', isGone: true }
    dom.className = isGone ? 'token-chip gone' : 'token-chip'
    dom.textContent = text
    dom.title = title
  }
  dom.contentEditable = 'false'
  show()
  chips.add(show)
  return { dom, ignoreMutation: () => true, destroy: () => void chips.delete(show) }
}
