/** The form that adds a key to the order. It is loaded when it is opened. */
import { useState } from 'react'
import type { Field } from '../../cells/kind.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { SelectField } from '../../ui/form-fields.tsx'
import { useLinkedFields } from '../wording.ts'
import { isSortable } from './filter-values.ts'

interface Props {
  fields: readonly Field[]
  /** True if the order has as many keys as it may have. */
  isFull: boolean
  add(key: { field: string; dir: 'A' | 'D' }): void
  close(): void
}

export function SortForm({ fields, isFull, add, close }: Props) {
  const sortable = fields.filter(isSortable)
  const linked = useLinkedFields(fields.filter(({ type }) => type === 'lookup')).filter((one) => isSortable(one) && !one.always_hidden)
  const [field, setField] = useState(sortable[0]?.id ?? '')
  const [dir, setDir] = useState('A')
  const choices = (group: readonly Field[]) => group.map(({ id, name }): [string, string] => [id, name])
  return (
    <DialogBox title={viewTexts.sort} close={close}>
      <form
        className="view-form"
        onSubmit={(event) => {
          event.preventDefault()
          add({ field, dir: dir === 'D' ? 'D' : 'A' })
        }}
      >
        <SelectField
          label={viewTexts.field}
          value={field}
          change={setField}
          options={choices(sortable)}
          groups={linked.length ? [{ name: viewTexts.linkedFields, options: choices(linked) }] : []}
        />
        <SelectField label={viewTexts.direction} value={dir} change={setDir} options={viewTexts.directions} />
        {isFull && <p className="view-note">{viewTexts.sortIsFull}</p>}
        <button type="submit" className="button primary">
          {viewTexts.add}
        </button>
      </form>
    </DialogBox>
  )
}
