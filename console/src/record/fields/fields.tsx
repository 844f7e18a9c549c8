/** All fields of a record, each with its name above its value. */
import type { Field } from '../../cells/kind.ts'
import { anyText } from '../../cells/values.ts'
import { gridTexts } from '../../texts/grid.ts'
import { recordTexts } from '../../texts/record/record.ts'
import { RecordField } from './field.tsx'
import type { FieldsProps } from './field-props.ts'

export function Fields({ record, definition, ...props }: FieldsProps) {
  const fields = shownFields(definition.table.fields)
  return (
    <section className="record-fields" aria-label={recordTexts.fields}>
      {fields.map((field) => (
        <RecordField key={field.id} {...{ field, record, role: definition.role }} {...props} />
      ))}
      <Orphans record={record} table={props.table} fields={fields} />
    </section>
  )
}

/** The fields in the order of the table, what the service sets last. */
function shownFields(fields: readonly Field[]): Field[] {
  const visible = fields.filter(({ always_hidden }) => !always_hidden)
  return [...visible.filter(({ key, calc }) => !key && !calc), ...visible.filter(({ key, calc }) => key || calc)]
}

/** What was typed into fields that are gone. */
function Orphans({ record, table, fields }: Pick<FieldsProps, 'record' | 'table'> & { fields: readonly Field[] }) {
  const refused = Object.entries(table.edits.refusals(record.id) ?? {})
  return refused.map(([id, { typed, value }]) => {
    const text = typed ?? anyText(value as never)
    if (!text || fields.some((field) => field.id === id)) return null
    return (
      <p key={id} className="record-problem record-orphan" role="alert">
        {gridTexts.refusedAndTyped(gridTexts.removedWhileTyping, text)}{' '}
        <button type="button" className="button small quiet" onClick={() => table.edits.forgetRefusal(record.id, id)}>
          {recordTexts.dismiss}
        </button>
      </p>
    )
  })
}
