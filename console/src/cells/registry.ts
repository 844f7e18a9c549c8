/** How all types of fields are shown and edited. */

import type { CellKind } from './cell-kind.ts'
import { cellText } from './cell-text.ts'
import { dateTyping } from './editors/date-typing.ts'
import {
  DateBelow,
  DatetimeBelow,
  FilesEditor,
  LinkEditor,
  MultiLinkEditor,
  MultiSelectEditor,
  MultiUserEditor,
  SelectEditor,
  UserEditor,
} from './editors/lazy-editors.tsx'
import { type Typing, typedEditor } from './editors/typed-editor.tsx'
import type { Field } from './kind.ts'
import {
  CheckShown,
  ChoicesShown,
  DateShown,
  EachShown,
  FilesShown,
  InstantShown,
  LinksShown,
  NumberShown,
  PeopleShown,
  TextShown,
  TimeShown,
  UrlShown,
} from './shown.tsx'
import { date, datetime, time } from './types/dates.ts'

type Parts = Pick<CellKind, 'Shown' | 'Editor'>

const typed = (Shown: CellKind['Shown'], typing: Typing = {}): Parts => ({ Shown, Editor: typedEditor(typing) })

const PARTS: Readonly<Record<Field['type'], Parts>> = {
  text: typed(TextShown),
  long_text: typed(TextShown, { isLong: true }),
  email: typed(TextShown, { inputMode: 'email' }),
  url: typed(UrlShown, { inputMode: 'url' }),
  phone: typed(TextShown, { inputMode: 'tel' }),
  number: typed(NumberShown, { inputMode: 'decimal', align: 'right' }),
  checkbox: typed(CheckShown),
  date: typed(DateShown, dateTyping(date, DateBelow)),
  datetime: typed(InstantShown, dateTyping(datetime, DatetimeBelow)),
  time: typed(TimeShown, dateTyping(time)),
  select: { Shown: ChoicesShown, Editor: SelectEditor },
  multi_select: { Shown: ChoicesShown, Editor: MultiSelectEditor },
  user: { Shown: PeopleShown, Editor: UserEditor },
  multi_user: { Shown: PeopleShown, Editor: MultiUserEditor },
  lookup: { Shown: LinksShown, Editor: LinkEditor },
  multi_lookup: { Shown: LinksShown, Editor: MultiLinkEditor },
  file: { Shown: FilesShown, Editor: FilesEditor },
}

const kinds = new Map<string, CellKind>()

/** How a field's cells are shown, edited, copied and pasted. A type that this page does not know yet is text. */
export function cellKind(field: Pick<Field, 'type' | 'linked'>): CellKind {
  const key = `${field.type} ${field.linked}`
  let kind = kinds.get(key)
  if (!kind) {
    const { Shown, Editor } = (PARTS[field.type] as Parts | undefined) ?? PARTS.text
    const isList = field.linked === 'many'
    kind = { ...cellText(field), Shown: isList ? (props) => EachShown({ ...props, Shown }) : Shown, Editor }
    kinds.set(key, kind)
  }
  return kind
}
