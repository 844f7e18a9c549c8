/** Linked records, which are opened where one is. */
import type { Field, Value } from '../../cells/kind.ts'
import { isLink, valuesOf } from '../../cells/values.ts'
import { recordTexts } from '../../texts/record/record.ts'

/** A record of another table, or of the same one. */
export interface LinkedRecord {
  tableId: number
  recordId: number
}

export interface OpenLinked {
  /** The address of the record, for a tab of its own. */
  href(linked: LinkedRecord): string
  open(linked: LinkedRecord): void
}

export function Links({ value, field, openLinked }: { value: Value; field: Field; openLinked: OpenLinked }) {
  const tableId = field.table
  return (
    <ul className="record-links">
      {valuesOf(value, isLink).map(({ id, title }) => (
        <li key={id}>
          <a
            className="link-chip"
            dir="auto"
            data-untitled={title ? undefined : ''}
            href={tableId === undefined ? undefined : openLinked.href({ tableId, recordId: id })}
            onClick={(event) => {
              if (tableId === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return
              event.preventDefault()
              openLinked.open({ tableId, recordId: id })
            }}
          >
            {title || recordTexts.untitled(id)}
          </a>
        </li>
      ))}
    </ul>
  )
}
